"""Cues that a line answers another one, found once a message. Pure.

English and Chinese side by side: closed-class words and set phrases of chat, no topics. What needs the channel (who
is called by the first word, whose name is shortened) is `names_called`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from backscroll_sidecar.analyze.memo import remembered
from backscroll_sidecar.analyze.stopwords import STOP_WORDS
from backscroll_sidecar.scripts import HAN, UNSPACED

NOBODY = -1

MAX_CHARS = 400
"""Characters that are read: the beginning shows what a line answers."""

RARE_CHARS = 512
"""Characters read of each recent text, in which a shortened name must be rare: the longest line of IRC."""
MOST_RARE = 6
"""A word in more of the recent texts is no shortened name."""

FLAGS = (
    "question_mark", "question_word", "thanks", "yes_no", "greeting", "correction", "link", "version", "you",
    "first_person", "goes_on", "short", "laugh", "command", "alphabet", "ideographs", "other_script",
)  # fmt: skip
"""The bits of `flags_of`, lowest first. The last three tell the script of a line; one without letters has none."""

_BIT = {name: 1 << place for place, name in enumerate(FLAGS)}

_CALL = re.compile(r"\s*[@\uff20]?([^\s:,;：，；]{2,32})\s?(?:[:;,](?=\s|$)|[：，；])\s*")
_TOKEN = re.compile(r"[^\W_][\w\-\[\]`^|]{2,31}")
_OUTER = re.compile(r"^[\W\d_]+|[\W\d_]+$")

_YES_NO = re.compile(
    r"(?:yes|yep|yup|yeah|yea|ya|no|nope|nah|not|sure|right|correct|true|exactly|indeed|maybe|probably|ok(?:ay)?|k)\b"
    r"|是[的啊呀，,]|是$|对|不|没|有[的啊呀，,]|好|嗯|当然|可以|知道|行|也许|可能",
    re.ASCII,
)
_GREETING = re.compile(
    r"(?:hi+|hello|hey+|yo|hiya|greetings|good (?:morning|evening|afternoon)|morning|evening)\b"
    r"|你好|您好|大家好|早上好|晚上好|早安|嗨|哈[喽啰]",
    re.ASCII,
)
_CORRECTION = re.compile(
    r"\s*(?:\*+\s?\S+|\S+\s?\*+|s/[^/]*/[^/]*/?g?|i mean\b.*|我是说.*|说错了?.*)\s*$", re.ASCII
)
_LINK = re.compile(r"https?://|www\.|(?<!\S)[~.]{0,2}/\w+[/.]\w")
_DIGIT = re.compile("[0-9]")
_VERSION = re.compile(r"\d+\.\d+|\b\d{3,}\b", re.ASCII)
_GOES_ON = re.compile(
    r"(?:and|but|so|or|then|also|because|cause|well|which|though|except|it|it's|its|that|that's|they|he|she|same)\b"
    r"|那|但|所以|而且|因为|还|也|这|他|她|它|不过|然后",
    re.ASCII,
)
_LAUGH = re.compile(r"\b(?:lo+l|lmao|rofl|ha(?:ha)+|he(?:he)+|heh)\b", re.ASCII)
_IN_A_LAUGH = ("lol", "ool", "lmao", "rofl", "haha", "heh")
_SMILE = re.compile(r"[:;]-?[)dp(]")
_COMMAND = re.compile(r"\s*(?:[!.]\w|/\w+\s)")
_ALPHABET = re.compile("[a-z\u00e0-\u024f]{2}")
_IDEOGRAPHS = re.compile(f"[{HAN}{UNSPACED}]")
_OTHER_SCRIPT = re.compile("[\u0370-\u10ff\u1200-\u1cff]")


_WORDS: Mapping[str, str] = {
    "thanks": "thanks thx thnx thanx tnx ty tyvm cheers appreciate appreciated",
    "question_word": "what wat how why where when which who whose anyone anybody does did could",
    "you": "you your u ya yours youre",
    "first_person": "i im my me ive mine",
}
_PHRASES: Mapping[str, Sequence[str]] = {
    "thanks": ("thank you",),
    "question_word": ("is there", "do you", "can i", "can you"),
}
_CHINESE: Mapping[str, str] = {
    "thanks": "谢谢|多谢|感谢|谢了|謝謝",
    "question_word": "什么|甚么|什麼|怎[么麼样]|为何|谁|哪|几|多少|如何|吗|嗎|呢|是不是|有没有|能不能|请问",
    "you": "[你您]",
    "first_person": "[我咱]",
    "laugh": "哈哈|呵呵|嘿嘿",
}
_ASCII_WORD = re.compile(r"[a-z0-9_]+")
_BIT_OF_WORD = {word: _BIT[name] for name, words in _WORDS.items() for word in words.split()}
_SAID = frozenset(_BIT_OF_WORD)
_BITS_OF_PHRASES = tuple(
    (phrase, re.compile(rf"\b{phrase}\b", re.ASCII), _BIT[name])
    for name, phrases in _PHRASES.items()
    for phrase in phrases
)
_BITS_IN_CHINESE = tuple((re.compile(signs), _BIT[name]) for name, signs in _CHINESE.items())
_BITS_AT_THE_START = tuple(
    (pattern, _BIT[name])
    for name, pattern in (
        ("yes_no", _YES_NO),
        ("greeting", _GREETING),
        ("correction", _CORRECTION),
        ("goes_on", _GOES_ON),
    )
)


@remembered
def flags_of(text: str) -> int:
    """The cues of a text as bits, in the order of `FLAGS`; O(`MAX_CHARS`).

    Sets of words and plain strings decide where an expression is worth its search: twice as fast as one
    alternation a cue.
    """
    line = text[:MAX_CHARS].lower()
    called = _CALL.match(line)
    body = line[called.end() :] if called else line
    bits = _in_words(body) | _in_signs(body) | _script_of(body)
    if not body.isascii():
        for pattern, bit in _BITS_IN_CHINESE:
            if pattern.search(body):
                bits |= bit
    for pattern, bit in _BITS_AT_THE_START:
        if pattern.match(body):
            bits |= bit
    if "?" in line or "\uff1f" in line:
        bits |= _BIT["question_mark"]
    if _COMMAND.match(line):
        bits |= _BIT["command"]
    if len(body) < 16 and body.count(" ") < 3:
        bits |= _BIT["short"]
    return bits


_THANKS = frozenset(_WORDS["thanks"].split())
_THANKS_IN_CHINESE = re.compile(_CHINESE["thanks"])


def thanks(body: str) -> bool:
    """Whether a text, in lower case and without an address, has a word of thanks. O(n)."""
    if not _THANKS.isdisjoint(_ASCII_WORD.findall(body)) or "thank you" in body or "3q" in body:
        return True
    return not body.isascii() and _THANKS_IN_CHINESE.search(body) is not None


def _script_of(body: str) -> int:
    """The bit of the script. Of a line in several not the alphabet's: terms and commands are written in that."""
    if not body.isascii():
        if _IDEOGRAPHS.search(body):
            return _BIT["ideographs"]
        if _OTHER_SCRIPT.search(body):
            return _BIT["other_script"]
    return _BIT["alphabet"] if _ALPHABET.search(body) else 0


def _in_words(body: str) -> int:
    bits = 0
    for word in _SAID.intersection(_ASCII_WORD.findall(body)):
        bits |= _BIT_OF_WORD[word]
    for phrase, pattern, bit in _BITS_OF_PHRASES:
        if phrase in body and pattern.search(body):
            bits |= bit
    return bits


def _in_signs(body: str) -> int:
    bits = 0
    if "3q" in body:
        bits |= _BIT["thanks"]
    if ("/" in body or "www." in body) and _LINK.search(body):
        bits |= _BIT["link"]
    if _DIGIT.search(body) and _VERSION.search(body):
        bits |= _BIT["version"]
    if ((":" in body or ";" in body) and _SMILE.search(body)) or (
        any(map(body.__contains__, _IN_A_LAUGH)) and _LAUGH.search(body)
    ):
        bits |= _BIT["laugh"]
    return bits


class NamesLately:
    """Names of recent authors, to be looked for in texts.

    Belongs to one place in a channel. The texts before it are read once, when a text first shortens a name.

    Attributes
    ----------
    users : case-folded name to user.
    by_head : beginning of a name's core to the names and their places in `users`
    """

    __slots__ = ("_recent", "by_head", "users")

    def __init__(self, users: Mapping[str, int]) -> None:
        self.users = users
        self._recent: list[str] | None = None
        self.by_head: dict[str, list[tuple[int, str]]] = {}
        for place, name in enumerate(users):
            self.by_head.setdefault(_head(name), []).append((place, name))

    def is_rare(self, token: str, recent_texts: Iterable[str]) -> bool:
        """Whether at most `MOST_RARE` of the texts have a word in their first `RARE_CHARS`. O(characters)."""
        if self._recent is None:
            self._recent = [text[:RARE_CHARS].casefold() for text in recent_texts]
        having = (1 for text in self._recent if token in text)
        return sum(islice(having, MOST_RARE + 1)) <= MOST_RARE


def names_called(
    text: str, names: NamesLately, author: int, recent_texts: Iterable[str]
) -> tuple[int, int]:
    """The user called by the first word of a text, and the user whose name a word shortens; -1: nobody.

    Parameters
    ----------
    author : of the text; authors do not call themselves.
    recent_texts : the texts a shortened name must be rare in, those before the place that `names` belong to; read if
        there is one: a word that is said often is just a word.
    """
    word, words, count = _words_of(text)
    addressee = _who(word, names, author) if word else NOBODY
    by_head = names.by_head
    tokens = {word for word in (words[count:] if addressee >= 0 else words) if word[:3] in by_head}
    if tokens:
        heads = {token[:3] for token in tokens}
        for _, name in sorted(both for head in heads for both in by_head[head]):
            user = names.users[name]
            if user in {addressee, author}:
                continue
            for token in tokens & _prefixes(name):
                if names.is_rare(token, recent_texts):
                    return addressee, user
                tokens.discard(token)  # a common word shortens no other name either
    return addressee, NOBODY


@remembered
def _words_of(text: str) -> tuple[str, tuple[str, ...], int]:
    """The word that may call somebody ("": none), the words that may shorten a name, and how many precede that call."""
    line = text[:MAX_CHARS].casefold()
    called = _CALL.match(line)
    words = tuple(word for word in _TOKEN.findall(line) if word not in STOP_WORDS)
    if called is None:
        return "", words, 0
    behind = _TOKEN.findall(line, called.end())
    return called.group(1), words, len(words) - sum(word not in STOP_WORDS for word in behind)


def _who(word: str, names: NamesLately, author: int) -> int:
    """The user a calling word means: by name, by its core, by a prefix of three letters, by one typo."""
    users, by_head = names.users, names.by_head
    user = users.get(word, author)
    if user != author:
        return user
    core = _OUTER.sub("", word) or word
    if len(core) < 3 or core in STOP_WORDS:
        return NOBODY
    for _, name in by_head.get(core[:3], ()):
        known = _core(name)
        if users[name] != author and (known.startswith(core) or core.startswith(known)):
            return users[name]
    if len(core) >= 5:
        alike = [both for head, some in by_head.items() if head[:1] == core[0] for both in some]
        for _, name in sorted(alike):
            if users[name] != author and _is_one_edit(core, _core(name)):
                return users[name]
    return NOBODY


@lru_cache(maxsize=4096)
def _core(name: str) -> str:
    return _OUTER.sub("", name) or name


@lru_cache(maxsize=4096)
def _head(name: str) -> str:
    return _core(name)[:3]


@lru_cache(maxsize=4096)
def _prefixes(name: str) -> frozenset[str]:
    """The shortened forms of a name, its core included."""
    core = _core(name)
    return frozenset(core[:end] for end in range(3, len(core) + 1))


def _is_one_edit(one: str, other: str) -> bool:
    """Whether two words of the same first letter differ by one letter put in, left out, changed or swapped."""
    if abs(len(one) - len(other)) > 1 or not other or one[0] != other[0]:
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    left, right = one[start:], other[start:]
    return (
        left[1:] == right[1:]
        or left[1:] == right
        or left == right[1:]
        or (left[:2] == right[:2][::-1] and left[2:] == right[2:])
    )
