"""What people say when a reply helped or did not, English and Chinese side by side. Pure.

Closed-class words and set phrases of chat, no topics. The functions take what `phrases.said_in` makes of a line.
Chinese stands in simplified characters.
"""

from __future__ import annotations

import re

from backscroll_sidecar.analyze.reply_cues import thanks
from backscroll_sidecar.learning.phrases import Phrases

# --- thanks -------------------------------------------------------------------------------------------------------

_HELPED = Phrases(
    (
        r"\b<it> (?:did (?:it|the trick)|worked|helped|helps|fixed it|solved it)\b",
        r"^works?(?:ed)? (?:now|like a charm|perfectly|great|fine|well)\b",
        r"\bworked like a charm\b",
        r"^(?:oh |wow |haha )?(?:perfect|brilliant|life ?saver|spot on)\b",
        r"\bexactly what i (?:need|want|was (?:after|looking))",
        r"\byou(?:'re| are) (?:the best|awesome|a (?:lifesaver|star|genius))",
        r"\bgood bot\b|\bmuch obliged\b",
    ),
    (
        "谢[啦您过咯喽]|搞定|(?<!没)解决了|(?<![不没])(?:管用|好用|可以了|好使)|成功了|就[要是]这个|爱你|辛苦[了啦]",
        "完美|救了?我|帮(?:到|了)?大忙|感激|拜谢",
    ),
)
_NOT_FOR_HELP = Phrases(
    (
        r"\bno,? (?:thanks|thank you|thx)\b|\bthanks? (?:to|god|goodness|heavens)\b|\bin advance\b|\bany ?ways?\b",
        r"\bfor (?:trying|nothing|your time|asking|understanding|waiting|the offer)\b|\bnever ?mind\b",
        r"\b(?:say|said|says|saying) (?:thanks|thank you)\b|\b(?:no|not|never) (?:worries|problem|helped)\b",
        r"\b(?:would be|will be|is) (?:\w+ )?appreciated\b|\bif any\w+ (?:can|could|knows)\b",
    ),
    (
        "先谢|提前感?谢|同样感?谢|还是(?:要)?感?谢|没(?:关系|事)|说(?:声|句)?谢|不用谢|不谢|谢天谢地|算了",
        "谢谢(?:都|也)?不",
    ),
)
_SARCASM = Phrases(
    (
        r"\bfor nothing\b|\b(?:gee|geez|jeez|golly|wow|oh well),? (?:thanks|thank you)\b|\bthanks obama\b",
        r"\b(?:captain obvious|einstein|sherlock)\b|\byeah,? right\b|(?<!\S)/s$|\bslow clap\b|\bas useful as\b",
        r"\b(?:so|very|really|real|super|how|incredibly) (?:damn )?helpful\b",
        r"\b(?:useless|worthless|pointless|garbage|rubbish|crap|no help|waste of|clueless|dumb|stupid|idiot)\b",
    ),
    (
        "(?<!呵)呵呵(?!呵)|谢谢(?:您|你)(?:嘞|咧|全家|八辈|哦$)|我(?:可)?(?:真是)?谢谢[你您]|可真有|真有[你您]的",
        "真行|真是(?:太)?感?谢谢?[你您](?:嘞|啊|哦|了)|等于(?:没|白)|白[问说]|废[话物]|没用|一点用|垃圾|智障",
        "无语|好意思|服了",
    ),
)
_EYES = re.compile("[🙄🙃😒😑💩🖕😤]")
_THANKS_AT = re.compile(r"\b(?:thank\w*|thx|thnx|tnx|ty|tyvm|cheers)\b|谢")
_QUESTION_MARK = re.compile("[?？]")
_FIRST_CHARS = 12
_KNOWS_NOTHING = Phrases(
    (
        r"\b(?:do|did)<n't> (?:really )?(?:know|have (?:any|an)|find|understand)",
        r"^(?:i'm )?(?:sorry|afraid)\b",
        r"\bno (?:idea|clue|information)\b|\bnot (?:sure|familiar)\b",
        r"\b(?:can|could|ca)<n't> (?:help|find|answer)|\bunable to (?:help|find|answer)",
    ),
    (
        "不(?:太|是很|大)?(?:清楚|知道|了解|确定|晓得|懂)|(?:问住|难倒|考倒)了?我|帮不[了上]",
        "没有?(?:找到|查到|听说|相关)|无法|抱歉|不好意思",
    ),
)
_REPLY_CHARS = 80


def is_sarcastic(said: str) -> bool:
    """Whether what looks like thanks or praise is meant the other way, as far as words tell."""
    return _SARCASM.are_in(said) or _EYES.search(said) is not None


def thanks_for_help(said: str) -> bool:
    """Whether a line thanks for help, or says that something helped.

    Not: thanks for the attempt, in advance, or at the end of a question; what somebody else said.
    """
    if not thanks(said) and not _HELPED.are_in(said):
        return False
    if _NOT_FOR_HELP.are_in(said) or is_sarcastic(said):
        return False
    if _QUESTION_MARK.search(said) is None:
        return True
    at = _THANKS_AT.search(said)
    return at is not None and at.start() <= _FIRST_CHARS


def knows_nothing(said: str) -> bool:
    """Whether a reply gives up: thanks for it are manners."""
    return _KNOWS_NOTHING.are_in(said[:_REPLY_CHARS])


# --- corrections --------------------------------------------------------------------------------------------------

_WRONG = Phrases(
    (
        r"<lead><no>(?:so )?(?:what )?i (?:meant(?! that (?:for|to)\b)|was (?:asking|talking|looking))\b",
        r"<lead><no>i (?:asked (?:for|about|how|what|if|whether|you)|never said|did<n't> (?:say|ask|mean|want))\b",
        r"<lead><no>i said\b(?! (?:that )?because)(?=\W+\w)|<lead>(?:no,? i mean\b|what i mean is\b)",
        r"<lead>i (?:already )?know (?:that|what|how|about|it)\b.*\b(?:just|wondering|asking)\b",
        r"<lead><it>(?:'s| is| was| are)? ?<just>(?:wrong|incorrect|false|nonsense|outdated|backwards)\b",
        r"<lead><it>(?:'s| is| was| are)? ?<just>not (?:what|right|true|correct|it|how|helpful|quite|the)\b",
        r"<lead><it>(?:'s| is| was| are)? ?<just>not my (?:question|problem|issue)\b",
        r"<lead><it> (?:is|was)<n't> (?:what|right|true|correct|it|how|my|helpful)\b",
        r"<lead>not (?:what|the one|true|right|correct|quite right|really what)\b",
        r"<lead>(?:wrong|incorrect|false|nonsense|since when)\b",
        r"<lead>(?:there(?:'s| is| are) )?no such\b(?! file or)",
        r"<lead>are you (?:sure|serious)(?: (?:about|that|of)\b|[^\w\s]|$)",
        r"<lead>you(?:'re| are)? (?:wrong|mistaken|confus\w+|misunder\w+|misread|mix\w+|made (?:that|it) up)\b",
        r"<lead>you (?:got <it> (?:all )?(?:wrong|backwards|mixed|confused)|miss(?:ed|ing) (?:the point|my))\b",
        r"<lead>you did<n't> (?:answer|read|get|understand)\b",
        r"\bnot what i (?:asked|meant|want\w*|need\w*|said|was)\b|(?<!i )\bmisunderst\w+|\bgot it backwards\b",
        r"\b(?:does<n't>|no longer) exists?\b|\bn[o']t (?:my|the) question\b",
    ),
    (
        "我(?:们)?(?:[说问指讲找查]|要|想要|想问)的(?:是|不是|又不是)|我(?:是|不是)[说问指]|我没有?(?:这么)?[问说让]",
        "我的意思|(?<!还)没有?(?:问|让)[你您]|不是这(?:个)?(?:意思|啊|呀|吧|[，,。！!]|$)",
        "^错[了啦，,。！!]",
        "(?:你|它|回答|翻译)?[搞弄答理算写记认看][错反][了啦吧]|(?<![没我])说[错反][了啦]",
        "误(?:会|解)|理解(?:错|反|偏|有误)|有误|不准确|不正确|答非所问|驴唇|牛头不对|跑题|不着调",
        "瞎[说编扯答]|胡[说扯编]|乱[说编答讲]|扯淡|(?:根本|压根|明明)就?(?:没|不|是)|这?哪里?是.{1,8}[啊呀]?$",
        "^(?:[你您]?确定[？?吗么]|[你您]确定|不对)",
        "不太?对(?:[啊呀吧呢了，,]|$)",
    ),
)
_FAILED = Phrases(
    (
        r"<lead>(?:no,? )?<advice>?[\w ']{0,12}?\b(?:did|does|do|wo|is|was)<n't> (?:really |even )?<work>",
        r"<lead>(?:<it> |these )?not (?:really |even )?<work>",
        r"<lead>(?:<it> )?still (?:does|did|ca|wo|is)<n't>|<lead>i do<n't> have (?:<it>|one|any such)\b",
        r"\b(?:no|without|not much) (?:luck|dice|success|joy)\b|\bto no avail\b|\bstill the same\b",
        r"\bsame (?:error|problem|issue|result|message)s?\b|\bsame thing (?:again|happens|here)\b",
        r"<lead>(?:of course )?i(?:'ve| have)? (?:already )?tried <it>\b",
        r"\balready tried <it>\b",
        r"^(?:i )?(?:already )?did that\b",
        r"(?:\b(?:but|and)|[,.]) ?(?:it |that )?(?:still )?(?:did|does)<n't> <work>",
    ),
    (
        "(?:还是|仍然?|依然|照样)(?:不行|不能|不对|没用|没反应|没解决|报错|一样|这样|失败|打不开)",
        "(?<!有)没(?:啥|什么|有)?(?:用|效果)(?:[啊呀了吧！!。，,]|$)|不管用|不好使|不起作用|不顶用|行不通|没解决",
        "无效|试[试过]?了?.{0,8}(?:不行|没用|不成|失败)",
    ),
)
_NO = Phrases(
    (
        (
            r"^(?:(?:lol|haha\w*|um+|er+|hm+|oh|well) )*(?:no+|nope|nah)\b(?!,? (?:problem|prob|worries|way|idea|thanks"
            r"|thank|thx|need|wonder|doubt|big deal|matter|clue|kidding|joke|offense|hurry|rush|reason|pressure|comment"
            r"|more))"
        ),
    ),
    ("^(?:不是|不不)(?!吧|吗|嘛|么|很|太|特别|说|什么|我)",),
)
_CONTRADICTS = Phrases(
    (
        r"<lead>(?:i(?:'ve| have)? )?(?:already )?tried\b|<lead>(?:actually,? )?i (?:actually )?want(?:ed)?\b",
        r"<lead>(?:it|that) (?:did|does|is|was|wo|ca)<n't>(?! use| matter| hurt)|<lead>(?:it|that) is unable to\b",
        r"^(?:i )?do<n't> think so\b",
        r"<lead>there(?:'s| is| are|re)(?: no|n't)\b",
        r"\S,\s?not (?:an? |the )?[\w ]{1,24}$|(?<!you )\b(?:should be|it's (?:actually|really))\b|\bbackwards\b",
        r"^actually,? (?:<it>|the \w+|he|she|they)\b",
        r"\b(?:rewrite|redo) <it>\b",
        r"^(?:way )?too (?:long|short|formal|stiff|vague|generic|complicated|technical)\b",
    ),
    (
        "不是.{1,16}[，,]\\s?(?:而)?是|是.{1,14}[，,]\\s?[可又而]?不是|应该是|其实是|应为|早就不|已经(?:离|不)",
        "太(?:官方|长|短|啰嗦|笼统|复杂|简单|生硬|正式)了|[重再](?:写|来|做)",
    ),
)
_ONES_OWN_SLIP = Phrases(
    (
        r"\b(?:wrong|other) (?:window|channel|chat|nick|person|room|tab|group|target)\b|\bmy (?:bad|mistake)\b",
        r"\bsorry,? (?:i meant|my)\b",
    ),
    ("[发打]错|手误|我说?错了|我(?:记|搞|弄|看)错|我说.{0,3}不对",),
)
_RHETORIC = re.compile(
    r"不[是对].*(?:[吗嘛么][？?。！!]*$)|^不是吧|不是[吗嘛]|对不对|是不是|不错|没错|行不行"
)


def wrongness(said: str, *, is_to_bot: bool, answers_bot: bool, asks: bool) -> float:
    """How surely a line says that a reply is wrong, misses the question, or did not help: 0 to 1.

    Parameters
    ----------
    is_to_bot
        The line is addressed to the bot, or is the asker's first behind the reply: milder words will do.
    answers_bot
        The reply asked something: a "no" answers that.
    asks
        The line asks something.
    """
    if _ONES_OWN_SLIP.are_in(said):
        return 0.0
    if not said.isascii():
        said = _RHETORIC.sub(" ", said)
    if _WRONG.are_in(said):
        return 0.85
    if _FAILED.are_in(said):
        return 0.5 if answers_bot else 0.75
    if not is_to_bot or answers_bot or asks:
        return 0.0
    return 0.5 if _NO.are_in(said) or _CONTRADICTS.are_in(said) else 0.0


# --- the question again, agreement, pointing back -----------------------------------------------------------------

_AGAIN = Phrases(
    (
        r"\b(?:let me (?:try|ask|rephrase|repeat|put)|rephras\w+|in other words|(?:i'?ll|to) (?:ask|repeat))\b",
        r"\bask\w* again\b|\bwhat i (?:want|wanted|would like|need) to know\b|\b(?:the|my) question (?:is|was)\b",
        r"\bagain[:,]",
    ),
    (
        "换(?:个|种)?(?:问法|说法|方式)|再[问说]一?[遍次下]|重新?问|想(?:知道|问)的?是|我是想(?:知道|问)|我问",
        "说人话|到底|究竟",
    ),
)
_GOES_ON = Phrases(
    (
        r"^(?:and|also|what about|how about|so then|another)\b",
        r"\b(?:too|as well|instead|else)\W*$",
    ),
    ("^(?:那么?|另外|还有|然后|对了|顺便)(?=.*(?:呢|以后|如果))",),
)
_AGREES = Phrases(
    (
        r"^(?:yes|yep|yup|yeah|right|correct|true|exactly|indeed|agreed|this|same|ditto|seconded|what \S+ said)\b",
        r"^(?:\+1|\^+$)",
    ),
    ("^(?:[对是嗯]|没错|正确|同意|赞同|确实)",),
)
_WONDERS_TOO = Phrases(
    (
        r"\b(?:me too|same (?:here|question|problem)|no (?:idea|clue)|dunno|good question)\b",
        r"\bi (?:was (?:going to|about to|wondering)|have the same|wonder|do<n't> know)\b",
    ),
    ("同问|我也(?:想|不|是)|[蹲等]一?个|不(?:太)?(?:知道|清楚)|好问题",),
)
_OWN_CASE = Phrases((r"^(?:i|i'm|im|i've|ive|my|we)\b",), ("^[我俺]",))
_TOO = Phrases((r"\b(?:too|either|as well|also)\b",), ("也|正好",))
_POINTS = Phrases(
    (
        r"\b(?:this|these|here|see|look|read|above|missed|overlooked|forgot|ignored?|already|yesterday|earlier)\b",
        r"\^|\bdid<n't> (?:see|read|know)\b|\blast word\b",
    ),
    ("这|看|[上前]面|楼上|之前|漏|忘|没[读注]|为准|写了|[发说]过",),
)
_SAID_BEFORE = Phrases(
    (
        r"\b(?:i|we) (?:(?:have|'ve|already|just) )*(?:said|told|wrote|posted|mentioned|explained|shared|sent)\b",
        r"\b(?:i|we)(?:'ve| have) (?:already|just)\b|\b(?:see|scroll|look|read) (?:up|above)\b",
        r"\b(?:said|posted|mentioned|written|told you)\b.*\b(?:above|before|earlier|yesterday|already|last week)\b",
    ),
    (
        "(?:[前上]面|之前|刚[才刚]?|早就?|昨天|楼上|已经?|都).{0,4}(?:<说>[过了]|就<说>|通知)|<说>过",
    ),
)


def asks_again(said: str) -> bool:
    """Whether a line says that it asks once more."""
    return _AGAIN.are_in(said)


def goes_on(said: str) -> bool:
    """Whether a question goes on from an answer: "and how …", "what about …", 那以后…呢."""
    return _GOES_ON.are_in(said)


def agrees(said: str) -> bool:
    """Whether a line begins with a yes to what was said."""
    return _AGREES.are_in(said)


def wonders_too(said: str) -> bool:
    """Whether a line has the same question, or no answer."""
    return _WONDERS_TOO.are_in(said)


def tells_own_case(said: str) -> bool:
    """Whether a speaker begins with themselves."""
    return _OWN_CASE.are_in(said)


def joins_in(said: str) -> bool:
    """Whether a speaker joins in with another one: "thanks, that helps me too"."""
    return _TOO.are_in(said)


def points_back(said: str) -> bool:
    """Whether a line points at something, as one does at a message that was missed."""
    return _POINTS.are_in(said)


def was_said_before(said: str) -> bool:
    """Whether a line says that something had been said."""
    return _SAID_BEFORE.are_in(said)
