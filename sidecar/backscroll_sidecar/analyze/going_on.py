"""Whether a line asks a bot to go on with a broken-off reply, English and Chinese. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from backscroll_sidecar.analyze.same_question import said_besides_calls

MOST_CHARS = 80
"""Longer lines ask for something else as well."""
_BEFORE = (
    r"(?:(?:please|pls|plz|ok|okay|yes|yeah|yep|sure|so|and|well|hey|now|just|can you|could you|would you|will you"
    r"|do|you can|you may|you were cut off|you stopped|you got cut off)[\s,.!?]+)*"
)
_IT = r"(?:it|that|this|there|here|(?:the|your|that|this) (?:\w+ ?){1,2})"
_GO_ON = (
    rf"(?:continue|resume|proceed)(?: (?:with |on )?{_IT})?(?: writing| talking)?"
    r"|(?:go|carry|keep) on|(?:go|carry) on with (?:it|that|the \w+)|keep (?:going|writing|talking)|go ahead"
    rf"|finish(?: {_IT})?|(?:tell|say|write|give)(?: me| us)? (?:more|the rest)|the rest|more"
    r"|(?:and )?then(?: what)?|what(?:'s| is| happens| happened) next|what then|next"
)
_BEHIND = (
    r"(?:[\s,.!?]+(?:please|pls|plz|thanks|thank you|now|then|on|again|writing"
    r"|(?:from )?where (?:you|it|we) (?:left off|stopped|were|broke off)|from (?:there|here)|with (?:it|that)"
    r"|you were cut off|your answer was cut off|you stopped))*"
)
_ENGLISH = re.compile(rf"{_BEFORE}(?:{_GO_ON}){_BEHIND}[\s,.!?\u2026]*", re.ASCII)
_CHINESE = re.compile(
    "(?:[请請麻烦煩你您好的嗯哦那就快再能可以不]|然后|然後|[，,。！!？?\\s])*"
    "(?:[继繼][续續](?:往下)?(?:[说說讲講写寫编編聊答来來]|回答|生成|输出|輸出|下去|刚才的|剛才的|上面的|前面的|没说完的|沒說完的)*"
    "|接着(?:往下)?(?:[说說讲講写寫编編聊答来來]|回答)?(?:下去)?|[续續][写寫说說]?"
    "|(?:接|往)下(?:[说說讲講写寫来來编編]|去)?|[说說讲講写寫][完下](?:去|它|吧)?"
    "|把(?:它|话|話|故事|答案|后面的?|後面的?|剩下的?)?[说說讲講写寫]完|(?:然[后後]|后[来來]|後[来來]|接下[来來]|接着|下文|还有|還有|下一步)呢?"
    "|[没沒](?:有)?[说說讲講写寫]完|剩下的?(?:呢)?)"
    "[吧啊呀呢嘛吗嗎哦了啦一下謝谢，,。！!？?…\\s]*"
)
_OTHERS = re.compile(
    "contin(?:u(?:ez|es|e|a|ar|ă|á)|ú[ae])|cont|contd|vas-y|la suite|poursuis|poursuivez|sigue|siga"
    "|prossiga|segue|prosegui|sigue así|vai avanti|(?:mach )?weiter|fahr fort|weiterschreiben"
    "|ga (?:door|verder)|verder|kontynuuj|dalej"
    "|fortsätt|fortsett|devam(?: et)?|lanjut(?:kan)?|tiếp(?: tục)?(?: đi)?|продолж(?:ай|айте|и|ите)|дальше"
    "|давай дальше|продовжуй|далі"
    "|(?:続|つづ)け(?:て|てください|て下さい|てくれ)|続き(?:を)?(?:お願いします|は)?"
    "|계속(?:해|해줘|해 줘|해주세요|해 주세요|하세요)?|이어서(?: 써줘)?"
    "|أكمل|اكمل|تابع|استمر|واصل|كمّل|كمل|ادامه(?: بده| بدهید| دهید)?|המשך|תמשיך|जारी रखो|जारी रखें|आगे बताओ|आगे"
    "|(?:เล่า|ทำ|เขียน|พูด)?ต่อ(?:เลย|ไป|สิ)?(?:ครับ|ค่ะ|คะ|นะ)?"
)
"""The most usual words in other languages."""


def asks_to_go_on(text: str, names: Iterable[str] = ()) -> bool:
    """Whether a line asks for nothing but that: "continue", "@Cat go on please", "接着说吧".

    Parameters
    ----------
    names
        What those go by whom the line mentions.
    """
    if len(text) > MOST_CHARS:
        return False
    said = _bare(said_besides_calls(text.strip(), names).lower().replace("\u2019", "'"))
    asks = (_ENGLISH, _CHINESE, _OTHERS)
    return bool(said) and any(one.fullmatch(said) is not None for one in asks)


def _bare(text: str) -> str:
    """The text without signs, marks and emoji at its ends."""
    first, last = 0, len(text)
    while first < last and _is_sign(text[first]):
        first += 1
    while first < last and _is_sign(text[last - 1]):
        last -= 1
    return text[first:last]


def _is_sign(char: str) -> bool:
    return unicodedata.category(char)[0] in "SPZC" or char == "\ufe0f"
