"""Topics of preferences: what their values are, how many hold at once, which words a question about them has. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from backscroll_sidecar.preferences.value_types import as_language, as_time_zone
from backscroll_sidecar.texts import PREFERENCE_SENTENCES, PREFERENCE_VALUES, Language, language_of

TOPIC_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
MAX_VALUE_BYTES = 500


class TopicType(StrEnum):
    """What the values of a topic are."""

    TEXT = "text"
    CHOICE = "choice"
    LANGUAGE = "language"
    TIME_ZONE = "time_zone"


@dataclass(frozen=True, slots=True)
class Topic:
    """A slot that preferences fill.

    Attributes
    ----------
    has_many : several values hold at once; else a newer one takes the place of an older one.
    words : English and Chinese words of a question about it, and of "my ... is" where it is the operator's own.
    opposite : the topic whose same value contradicts one of this.
    choices : what each value of a CHOICE is called, the value itself first.
    always_shown : whatever the question.
    sentences : how a value is told, in English and in Chinese, with ``{value}``; empty: as texts say.
    is_own : the operator's.
    """

    name: str
    type: TopicType = TopicType.TEXT
    has_many: bool = False
    words: tuple[str, ...] = ()
    opposite: str = ""
    choices: Mapping[str, tuple[str, ...]] | None = None
    always_shown: bool = False
    sentences: tuple[str, str] | None = None
    is_own: bool = False

    @property
    def family(self) -> str:
        """What topics have in common whose values can contradict each other."""
        return min(self.name, self.opposite) if self.opposite else self.name

    def normal(self, value: str) -> str:
        """The value as it is kept. Raises `ValueError` where the type does not take it."""
        value = " ".join(value.split())
        match self.type:
            case TopicType.LANGUAGE:
                return as_language(value)
            case TopicType.TIME_ZONE:
                return as_time_zone(value)
            case TopicType.CHOICE:
                return self._choice(value)
            case TopicType.TEXT:
                return value

    def _choice(self, value: str) -> str:
        choices = self.choices or {}
        for name, called in choices.items():
            if value.casefold() in (name, *called):
                return name
        raise ValueError(f"is none of {', '.join(choices)}")

    def told(self, value: str, language: Language) -> str:
        """A value as a sentence for a model."""
        place = int(language is Language.ZH)
        sentences = self.sentences or PREFERENCE_SENTENCES.get(self.name)
        kind = "language" if self.type is TopicType.LANGUAGE else self.name
        named = PREFERENCE_VALUES.get((kind, value))
        shown = value if named is None else named[place]
        if sentences is None:
            sentence = PREFERENCE_SENTENCES[""][place].replace(
                "{topic}", self.name.replace("_", " ")
            )
        else:
            sentence = sentences[place]
        return sentence.replace("{value}", shown)


def _choices(**named: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    return named


BUILTIN = (
    Topic("name", words=("name", "called", "address", "名字", "叫", "称呼"), always_shown=True),
    Topic(
        "not_called", has_many=True, opposite="name",
        words=("name", "called", "nickname", "名字", "叫", "称呼", "外号"), always_shown=True,
    ),
    Topic(
        "language", TopicType.LANGUAGE,
        words=("language", "translate", "语言", "翻译"), always_shown=True,
    ),
    Topic(
        "tone", TopicType.CHOICE, words=("tone", "style", "语气", "口吻"), always_shown=True,
        choices=_choices(
            formal=("formally", "polite", "politely", "正式", "严肃", "礼貌"),
            casual=("casually", "informal", "relaxed", "随意", "随便", "轻松", "口语化"),
            direct=("directly", "blunt", "straightforward", "直接", "直白", "干脆"),
            friendly=("friendlier", "warm", "友好", "亲切", "温柔", "温和"),
            humorous=("funny", "witty", "幽默", "风趣", "搞笑"),
        ),
    ),
    Topic(
        "length", TopicType.CHOICE, words=("short", "detail", "length", "简短", "详细"), always_shown=True,
        choices=_choices(
            short=("shorter", "brief", "briefly", "concise", "concisely", "terse", "succinct", "to the point",
                   "简短", "简洁", "短", "简单", "精简", "简明", "简明扼要", "言简意赅", "精炼"),
            detailed=("long", "longer", "thorough", "in detail", "elaborate",
                      "详细", "长", "具体", "详尽", "细致"),
        ),
    ),
    Topic("time_zone", TopicType.TIME_ZONE, words=("time", "zone", "when", "clock", "时区", "时间", "几点")),
    Topic("place", words=(
        "live", "place", "city", "home", "weather", "near", "restaurant", "here",
        "住", "城市", "地方", "天气", "附近", "家", "这里",
    )),
    Topic("work", words=(
        "work", "job", "company", "office", "profession", "career",
        "工作", "公司", "职业", "上班", "行业",
    )),
    Topic("project", words=("project", "building", "repository", "项目", "工程")),
    Topic("birthday", words=("birthday", "born", "age", "生日", "出生")),
    Topic("diet", has_many=True, words=(
        "eat", "food", "cook", "recipe", "restaurant", "dinner", "lunch", "allergy", "meal",
        "吃", "菜", "餐厅", "做饭", "过敏", "晚饭", "午饭",
    )),
    Topic("likes", has_many=True, opposite="dislikes", words=(
        "like", "love", "favourite", "recommend", "gift", "fun", "喜欢", "爱好", "推荐", "礼物",
    )),
    Topic("dislikes", has_many=True, opposite="likes", words=(
        "like", "hate", "dislike", "recommend", "avoid", "喜欢", "讨厌", "推荐",
    )),
)  # fmt: skip


class Topics:
    """The topics that a server knows, by name; others are free: texts, any number of values."""

    def __init__(self, own: Iterable[Topic] = ()) -> None:
        self._topics = {one.name: one for one in (*BUILTIN, *own)}

    def all(self) -> tuple[Topic, ...]:
        """Those that are known, the built-in ones first."""
        return tuple(self._topics.values())

    def get(self, name: str) -> Topic | None:
        """The topic of this name; None: it is free, or none is named."""
        return self._topics.get(name)

    def of(self, name: str) -> Topic:
        """The same; a free one is made."""
        return self._topics.get(name) or Topic(name, has_many=True)

    def told(self, name: str, value: str, said: str) -> str:
        """A value as a sentence, in the language in which it was said."""
        return self.of(name).told(value, language_of(said))


KNOWN = Topics()

MANNERS = {
    word: (topic.name, value)
    for topic in BUILTIN
    if topic.name in ("tone", "length") and topic.choices
    for value, called in topic.choices.items()
    for word in (value, *called)
}
"""By word: what somebody wants who wants answers like that."""
