"""What a line says, made ready for phrases, and phrases of English and Chinese to look for in it. Pure."""

from __future__ import annotations

import re

from backscroll_sidecar.analyze import cues
from backscroll_sidecar.analyze.ends import ends_of
from backscroll_sidecar.analyze.same_question import said_besides_calls

MAX_CHARS = 400
"""Characters that are read of a line: half of them from its beginning, half from its end."""

_TO_SIMPLIFIED = str.maketrans(
    "謝對錯說問過還沒關係開發寫試報樣講話嗎麼這個們會誤題記認應該為實時間後來裡買點樓剛經聽讀確讓難換",
    "谢对错说问过还没关系开发写试报样讲话吗么这个们会误题记认应该为实时间后来里买点楼刚经听读确让难换",
)
_QUOTED_LINE = re.compile(r"^[ \t]*[>＞].*$", re.MULTILINE)
_QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|「[^」]*」|『[^』]*』|(?<!\w)'[^']{2,}'(?!\w)")
_QUESTION = re.compile("[^.!?。！？\n]*[?？]+")
_FIRST_WORD = re.compile(r"\S+\s+")

_SHORT_FORMS = {
    "<lead>": (
        r"^(?:(?:lol|haha\w*|hm+|um+|uh|er+|oh|ok(?:ay)?|well|but|and|hey|wait|yeah|yep|yes|sorry|eh|thanks)\b"
        r"[\s,.!?:-]*)*"
    ),
    "<advice>": r"(?:<it>|these|neither|which|still|(?:i )?(?:just )?tried\b.*|did that\b.*)",
    "<just>": r"(?:just |still |also |so |simply |plain |all |totally )?",
    "<no>": r"(?:no+|nope|nah)?[\s,.!]*",
    "<n't>": r"(?: ?n[o']?t| not)\b",
    "<it>": r"(?:that|this|it|thats|its)",
    "<work>": (
        r"(?:(?:seem to )?work\w*|help\w*|do (?:it|anything)|change anything|fix (?:it|anything)"
        r"|make (?:any|a) difference)\b"
    ),
    "<说>": "[说写讲提发贴]",
}
"""What stands for an expression in a phrase, or in one further up."""


class Phrases:
    """Phrases of English and of Chinese, each an expression. In ASCII the English alone is looked for.

    One that begins with ``^`` or ``<lead>`` is looked for at the beginning only: a search for all of them at every
    character takes three times as long.
    """

    def __init__(self, english: tuple[str, ...], chinese: tuple[str, ...] = ()) -> None:
        self._ascii = _at_start_and_anywhere(english)
        self._any = _at_start_and_anywhere(english + chinese)

    def are_in(self, said: str) -> bool:
        """Whether one of them stands in what `said_in` made of a line."""
        at_start, anywhere = self._ascii if said.isascii() else self._any
        return at_start.match(said) is not None or anywhere.search(said) is not None


def _at_start_and_anywhere(phrases: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    opening = tuple(one for one in phrases if one.startswith(("^", "<lead>")))
    return _compiled(opening), _compiled(tuple(one for one in phrases if one not in opening))


def _compiled(phrases: tuple[str, ...]) -> re.Pattern[str]:
    expression = "|".join(phrases) or "(?!)"
    for short, whole in _SHORT_FORMS.items():
        expression = expression.replace(short, whole)
    return re.compile(expression, re.ASCII)


def said_in(text: str, bot_names: tuple[str, ...], *, calls_somebody: bool) -> str:
    """What a line says in lower case and simplified Chinese, without calls of the bot.

    `calls_somebody`: its first word calls somebody else and is left out.
    """
    said = said_besides_calls(ends_of(text, MAX_CHARS), bot_names).lower().replace("\u2019", "'")
    if calls_somebody and (call := cues.ADDRESS.match(said) or _FIRST_WORD.match(said)):
        said = said[call.end() :]
    return (said if said.isascii() else said.translate(_TO_SIMPLIFIED)).strip()


def without_quotations(said: str) -> str:
    """What is left of a line without the words of others."""
    if ">" in said or "＞" in said:
        said = _QUOTED_LINE.sub(" ", said)
    return _QUOTED.sub(" ", said).strip()


def without_questions(said: str) -> str:
    """The sentences of a line that ask nothing, as far as their marks tell."""
    return _QUESTION.sub(" ", said).strip()
