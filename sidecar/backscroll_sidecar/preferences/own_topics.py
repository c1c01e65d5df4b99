"""Topics of the operator's own, from a table as it stands in their TOML file. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backscroll_sidecar.preferences.topics import BUILTIN, TOPIC_NAME, Topic, TopicType

MAX_TOPICS = 100
MAX_WORDS = 50
MAX_WORD_CHARS = 50
MAX_SENTENCE_CHARS = 200
LANGUAGES = ("en", "zh")
_FIELDS = ("type", "many", "words", "sentence", "choices", "always_shown")
_BUILTIN_NAMES = frozenset(one.name for one in BUILTIN)


def topics_of(table: Mapping[str, Any]) -> tuple[Topic, ...]:
    """The topics of a file. Raises `ValueError`, which names the entry."""
    for name in table:
        if name != "topics":
            raise ValueError(f"{name}: the only table is [topics.NAME]")
    topics = table.get("topics", {})
    if not isinstance(topics, Mapping) or not topics:
        raise ValueError("topics: at least one table [topics.NAME] is wanted")
    if len(topics) > MAX_TOPICS:
        raise ValueError(f"topics: more than {MAX_TOPICS}")
    return tuple(_topic(name, given) for name, given in topics.items())


def _topic(name: str, given: Any) -> Topic:  # noqa: ANN401 - whatever stands there
    where = f"topics.{name}"
    if not TOPIC_NAME.fullmatch(name):
        raise ValueError(f"{where}: a name is of small letters, digits and _, a letter first")
    if name in _BUILTIN_NAMES:
        raise ValueError(f"{where}: a built-in topic has this name")
    if not isinstance(given, Mapping):
        raise ValueError(f"{where}: a table is wanted")
    for field in given:
        if field not in _FIELDS:
            raise ValueError(f"{where}.{field}: is none of {', '.join(_FIELDS)}")
    type_ = _type(given.get("type", "text"), f"{where}.type")
    choices = _choices(given.get("choices"), f"{where}.choices")
    if (type_ is TopicType.CHOICE) != bool(choices):
        raise ValueError(f'{where}.choices: goes with type = "choice", and only with it')
    words = _words_by_language(given.get("words"), f"{where}.words")
    return Topic(
        name,
        type_,
        has_many=_flag(given, "many", where),
        words=words,
        choices=choices,
        always_shown=_flag(given, "always_shown", where),
        sentences=_sentences(given.get("sentence"), f"{where}.sentence"),
        is_own=True,
    )


def _type(given: object, where: str) -> TopicType:
    try:
        return TopicType(str(given))
    except ValueError:
        raise ValueError(f"{where}: is none of {', '.join(TopicType)}") from None


def _flag(given: Mapping[str, Any], name: str, where: str) -> bool:
    value = given.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f"{where}.{name}: is neither true nor false")
    return value


def _words_by_language(given: object, where: str) -> tuple[str, ...]:
    """All words; each language needs one, so that both fill the same slots."""
    if not isinstance(given, Mapping) or sorted(given) != sorted(LANGUAGES):
        raise ValueError(f'{where}: lists for "en" and "zh" are wanted')
    return tuple(word for one in LANGUAGES for word in _words(given[one], f"{where}.{one}"))


def _words(given: object, where: str) -> tuple[str, ...]:
    if not isinstance(given, list) or not 0 < len(given) <= MAX_WORDS:
        raise ValueError(f"{where}: a list of 1 to {MAX_WORDS} words is wanted")
    for word in given:
        if not isinstance(word, str) or not word.strip() or len(word) > MAX_WORD_CHARS:
            raise ValueError(f"{where}: {word!r} is no word of at most {MAX_WORD_CHARS} characters")
    return tuple(word.strip().casefold() for word in given)


def _choices(given: object, where: str) -> Mapping[str, tuple[str, ...]] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping) or not 0 < len(given) <= MAX_WORDS:
        raise ValueError(f"{where}: a table of 1 to {MAX_WORDS} choices is wanted")
    found = {}
    for name, called in given.items():
        if not TOPIC_NAME.fullmatch(name):
            raise ValueError(
                f"{where}.{name}: a name is of small letters, digits and _, a letter first"
            )
        found[name] = _words(called, f"{where}.{name}")
    return found


def _sentences(given: object, where: str) -> tuple[str, str] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping) or sorted(given) != sorted(LANGUAGES):
        raise ValueError(f'{where}: texts for "en" and "zh" are wanted')
    for one in LANGUAGES:
        text = given[one]
        if not isinstance(text, str) or "{value}" not in text or len(text) > MAX_SENTENCE_CHARS:
            raise ValueError(
                f"{where}.{one}: is no text of at most {MAX_SENTENCE_CHARS} characters with {{value}} in it"
            )
    return given["en"], given["zh"]
