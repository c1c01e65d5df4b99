"""What of a message may be read for what its author says of themself, clause by clause. Pure.

Left out is what is not said, or not meant: code, quotations, questions, what is only supposed, what others say, what is
over, and the whole of a message that jokes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from backscroll_sidecar.texts import REDACTED

MAX_CHARS = 2_000
"""Of a message so much is read."""
MOST_TITLE_CHARS = 20
MAX_CLAUSE_CHARS = 80
"""Longer ones say no plain thing."""
_TO_SIMPLIFIED = str.maketrans(
    "歡愛討厭說講話嗎們這個稱為別請後從現開廣東語韓簡單點詳細隨輕鬆溫親劃題產經師醫護員學記編輯譯銷駛養飲過對"
    "專業務項頻裡裏麼還沒會應該實時間來買樓剛聽讓難換寫試報樣問關係發當與歲號國華樂體電視戲劇進長滿總麥乾餅魚雞"
    "鴨貓鳥馬車書畫圖網絡遊畢業師傅職場閱讀運動區陽島灣圳寧濟廈門漢蘇",
    "欢爱讨厌说讲话吗们这个称为别请后从现开广东语韩简单点详细随轻松温亲划题产经师医护员学记编辑译销驶养饮过对"
    "专业务项频里里么还没会应该实时间来买楼刚听让难换写试报样问关系发当与岁号国华乐体电视戏剧进长满总麦干饼鱼鸡"
    "鸭猫鸟马车书画图网络游毕业师傅职场阅读运动区阳岛湾圳宁济厦门汉苏",
)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+|www\.\S+", re.DOTALL)
_QUOTED_LINE = re.compile(r"^[ \t]*(?:[>＞|]|<[^<>\n]{1,40}>|\[\d{1,2}:\d\d).*$", re.MULTILINE)
_NAME_QUOTED = re.compile(
    r"((?:call(?:ed|ing)?(?: me)?|name is|叫我|叫)\s*)[\"“”「『']([\w ]{1,20})[\"“”」』']"
)
_QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|「[^」]*」|『[^』]*』|(?<!\w)'[^']{2,}'(?!\w)")
_TITLE = re.compile("《([^》]*)》")
_OPEN_QUOTE = re.compile('["“「『].*$', re.DOTALL)
_ADDRESS = re.compile(r"\A@?[\w\-\[\]|`^{}]{1,30}[:,]\s+(?=[A-Za-z'\u4e00-\u9fff])")
_SPEAKER = re.compile(r"^\s*[\w\-]{1,20}\s*[:：]\s*\S", re.MULTILINE)
_JOKE = re.compile(
    r"(?<!\w)(?:l+o+l+|lmf?ao+|rofl|j/?k|just kidding|kidding|joking|sarcasm|/s|ha(?:ha)+h?|he(?:he)+|xd|"
    r"not)(?!\w)(?!\s+\w)"
    r"|(?<!\w)(?:lo+l|lmf?ao+|rofl|just kidding|haha\w*|/s)(?!\w)"
    r"|[😂🤣😜😝😏🙃🤪]|哈哈|嘻嘻|呵呵|开玩笑|逗你|骗你|说笑|狗头|才怪|23333|hhh",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?。！？\n;；…]*(?:\.(?=\w)[^.!?。！？\n;；…]*)*[.!?。！？;；…~～]*")
_QUESTION = re.compile(
    r"[?？]|(?:吗|么|呢|没有|对吧|是吧|好不好|行不行|可以不|是不是)\W*$|^\W*(?:do|does|did|can|could|"
    r"should|would|will|shall|is|"
    r"are|am|was|were|what|which|who|why|how|where|when|guess)\s|谁|什么|怎么|为何|为什么|哪[里儿个些]?|"
    r"多少|几[个点时]|是不是|"
    r"要不要|能不能|会不会|有没有|喜不喜欢|猜",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\b(?:if|unless|would|i'd|could|might|maybe|perhaps|wish|suppose|supposing|imagine|pretend|should|"
    r"were|used to|let's say|"
    r"hopefully|probably|possibly|until|till|when|whenever|while|once|as if|assuming|example|e\.g|"
    r"hypothetically|tempted|"
    r"almost|before i|back when|lyrics?|song|movie quote|character|roleplay|novel|story)\b"
    r"|如果|要是|假如|假设|的话|可能|也许|大概|说不定|或许|好像|似乎|想象|万一|倘若|若是|除非|以前|曾经|"
    r"曾|原来|原本|本来|小时候|"
    r"过去|当初|从前|那时|那会|当年|等我|将来|打算|想要?搬|准备|计划|要不是|差点|恨不得|假装|比如|例如|"
    r"歌词|台词|小说|剧本|角色|"
    r"梦见|梦到|就算|即使|哪怕|的时候|时候",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"\b(?:said|says|say|saying|told|tells|asked|asks|claims?|thinks?|thought|goes|was like|were like|"
    r"quote|quoting|according|"
    r"wrote|heard|they call|she calls|he calls|teach(?:es)? me|reads?|sing(?:s|ing)?|lied)\b"
    r"|(?:他|她|它|们|人|妈|爸|姐|哥|弟|妹|老板|老师|同事|朋友|师傅|领导|客户|老婆|老公|男友|女友|同学)"
    r"(?:总|老|就|都|也|又|还|一直|经常|常|"
    r"刚才|昨天|今天|跟我|对我|和我)*(?:说|讲|问|告诉|觉得|认为|以为|叫我|喊我)|据说|听说|说我|问我|告诉我|所谓|人家",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"\s*(?:[,，:：—–()（）]|\s-+\s|\b(?:but|because|although|though|since|so that|and (?=i\b|i'm\b|my\b|"
    r"please\b|call\b))\b"
    r"|(?:但是?|不过|可是|因为|所以|而且|并且)(?!\w{0,1}$))\s*",
    re.IGNORECASE,
)
_REDACTED = re.compile("|".join(re.escape(word) for pair in REDACTED.values() for word in pair))
_SELF = re.compile(
    r"\b(?:i|i'm|im|i've|ive|me|my|we|our|answer|reply|respond|speak|use|be|keep|talk)\b|[我俺咱]|[用说讲答复語语啰說講請]",
    re.IGNORECASE,
)


def _title(title: re.Match[str]) -> str:
    """A title stands as it is, unless it says something itself."""
    is_speech = len(title[1]) > MOST_TITLE_CHARS or re.search("[我你，,]", title[1])
    return " \ufffc " if is_speech else title[1]


def may_tell(text: str) -> bool:
    """Whether a message may say something of who wrote it: most do not, and cost no more than this."""
    return _SELF.search(text[:MAX_CHARS]) is not None


def clauses(text: str) -> Iterator[tuple[str, bool]]:
    """The clauses that may be read, in simplified Chinese, each with whether it is all of its sentence."""
    said = text[:MAX_CHARS].replace("\u2019", "'").translate(_TO_SIMPLIFIED)
    said = _QUOTED_LINE.sub("\n", _CODE.sub(" \ufffc ", said))
    if _JOKE.search(said) or len(_SPEAKER.findall(said)) > 1:
        return
    said = _ADDRESS.sub("", said.strip())
    said = _TITLE.sub(_title, said)
    said = _OPEN_QUOTE.sub(" \ufffc ", _QUOTED.sub(" \ufffc ", _NAME_QUOTED.sub(r"\1\2", said)))
    said = _REDACTED.sub(" \ufffc ", said)
    for sentence in _SENTENCE.findall(said):
        if not sentence.strip() or _QUESTION.search(sentence):
            continue
        if _SUPPOSED.search(sentence) or _REPORTED.search(sentence):
            continue
        parts = [one.strip(" .!。！;；…~～\t") for one in _CLAUSE.split(sentence)]
        parts = [one for one in parts if 0 < len(one) <= MAX_CLAUSE_CHARS]
        yield from ((one, len(parts) == 1) for one in parts)
