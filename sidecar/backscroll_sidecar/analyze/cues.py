"""The cues by which `types.classify` tells the types of lines apart, English and Chinese.

They are matched against a line in lower case without the address at its start. Every list is closed-class words and set
phrases of chat; nothing here knows a topic. English phrases inside a line are pairs or triples of neighbouring words
(a set look-up each, once for all kinds of phrases), because searching a line for an alternation of phrases costs ten
times as much.
"""

from __future__ import annotations

import re
from itertools import product

ADDRESS = re.compile(
    r"\s*(?:@\S{1,40}\s+|[^\s:,：，]{1,32}\s?[:,](?!//)\s*|@?[^\s:,：，]{1,32}：\s*)"
)
"""``name: `` or ``@name `` at the start. No roster here: `types` keeps it where the "name" is a common word."""

URL = re.compile(r"(?:https?|ftp)://\S+|www\.\S+")
MARK = re.compile(r"\[[a-z_]{1,20}(?:: [^\[\]]*)?\]")
"""A medium rendered as text: ``[image]``, ``[image: alt text]``."""

ONLY_MARKS = re.compile(r"[\W_]*")
WORD = re.compile(r"[a-z0-9][a-z0-9']*")
NO_WORD_TO_SPACE = bytes([
    code if re.match(rb"[a-z0-9']", bytes([code])) else ord(" ") for code in range(256)
])  # fmt: skip

Phrases = frozenset[tuple[str, ...]]


def _phrases(*rows: str) -> Phrases:
    """Every combination of a row's columns, given as ``first|first second|second``."""
    return frozenset(
        way for row in rows for way in product(*(column.split("|") for column in row.split()))
    )


# --- notifications ------------------------------------------------------------------------------------------------

NOTIFICATION_START = re.compile(
    r"(?:is|has been|was) (?:now )?(?:away|back|gone|offline|online|afk|(?:auto)?idle|known as)\b"
    r"|\S{1,32} (?:has |have )?(?:just )?(?:joined|left|quit|parted)"
    r"(?: (?:the|this) (?:channel|chat|group|server|room))?\s*[.!]?$"
    r"|[\W_]*(?:announcement|notice|reminder|attention|alert|warning|psa|fyi|heads[ -]?up|breaking|automated message)"
    r"\b\s*[\])】:!*-]"
    r"|[@＠](?:all|everyone|here|channel|所有人|全体成员)(?![a-z])|\W*(?:all|everyone),? please note\b"
    r"|please do(?:n't| not) (?:flood|spam|paste)\b"
)
NOTIFICATION_START_ZH = re.compile(
    r"[【\[（(《#*\s]*(?:系统|群|重要|紧急|活动|会议|停机|放假|温馨)?(?:公告|通知|提醒|提示|消息|通告|播报|预告)[】\]）)》*\s:：]"
    r"|(?!.{0,20}[我你怎想吗能])\S.{0,40}(?:加入|退出|离开|进入)了(?:本)?(?:群聊|群组|群|聊天室|频道|房间|会议)[。！!]?$"
)
NOTIFICATION_EN = _phrases(
    "now known as",
    "pinned|unpinned a|the|this message",
    "changed|set the topic",
    "will be down|offline|unavailable|closed",
    "has been released|cancelled|canceled|rescheduled|postponed",
    "scheduled|planned maintenance|downtime|outage",
)
NOTIFICATION_ZH = re.compile(
    r"撤回了?一条消息|修改?群名(?:称)?为|邀请.{1,40}(?:加入|进)了?群|被(?:移出|踢出)了?群"
    r"|(?:系统|服务器?|网站)将?(?:于|在).{1,30}(?:维护|停机|升级|更新)"
)

# --- questions ----------------------------------------------------------------------------------------------------

_LEAD_IN = (
    r"(?:(?:hi+|hey+|hello|yo|so|ok(?:ay)?|well|but|and|also|or|then|now|hmm+|oh|um+|btw|sorry|please|guys|all|"
    r"everyone|everybody|folks|there|anyway|yeah|yes|no|thanks|quick question)\b[\s,.:!-]*)*"
)
_PERSON = r"(?:i|you|u|ya|it|its|there|this|that|these|those|he|she|they|we|any\w*|some\w*|the|my|your|our|a|an)"
_AUX = (
    r"(?:is|are|am|was|were|do|does|did|can|could|would|will|should|has|have|had|may|"
    r"isn'?t|aren'?t|doesn'?t|don'?t|didn'?t|can'?t|couldn'?t|won'?t|wouldn'?t|shouldn'?t|hasn'?t|haven'?t)"
)
QUESTION_START_EN = re.compile(
    rf"{_LEAD_IN}(?:{_AUX} {_PERSON}\b(?! (?:question|problem|good one))"
    r"|(?:what|wat)(?:'?s|'?re)?\b(?! (?:a|an|i|you|he|she|we|they)\b)"
    r"|how(?:'?s| (?:do|does|did|can|could|to|should|would|is|are|much|many|long|far|often|big|come|about))\b"
    r"|why(?! not (?:just|use|try))\b|who(?:'s| (?:is|has|can|knows?|uses?|wants?|was))\b"
    r"|where(?:'s| (?:is|are|do|does|did|can|could|should|would|to|was))\b"
    r"|when (?:is|are|do|does|did|will|can|was)\b|which \w+\b(?! is why)"
    r"|any(?:body|one| ?1)\b(?! (?:can|who|could|that)\b)|(?:some|any)\s?(?:idea|clue|suggestion|advice|tip)s?\b)"
)
QUESTION_EN = _phrases(
    "anyone|anybody|someone|somebody know|knows|here|have|has|got|tried|help|tell|explain|recommend",
    "can|could|would|will|does|do|has|have|is anyone|anybody|someone|somebody",
    "how do|can|should|would|could i|we|you|one|u",
    "what|where should|can|do i",
    "any idea|ideas|clue|clues|suggestion|suggestions|advice|pointers|hint|hints|recommendations|thoughts",
    "need|want help|advice",
    "need|want some|a|fast|little help|hint|advice",
    "a fast|quick hint",
    "please|pls|plz help|tell|explain",
    "wonder|wondering|curious if|how|why|what|whether|which|about",
    "my|another|quick question",
    "have|got a question",
)
QUESTION_ZH = re.compile(
    r"(?:吗|嗎|(?<![什怎这那多要])么)[啊呀]?[^\w]*$"
    r"|^(?:请问|求助|求教|求问|想问|问一下|请教)"
    r"|(?:有没有|有)人(?:知道|会|懂|用过|试过|在)|谁(?:知道|会|有|能|懂)"
    r"|(?:什么|啥|怎么|咋|为啥|哪[里儿个家些年天位]|几[点个号岁]|多少|多久|多大|如何|谁)"
    r"[^，。！!,.；;]{0,12}[^\w。！!.]*$"
    r"|(?:是不是|有没有|能不能|可不可以|要不要|会不会|知不知道|好不好|行不行|对不对|是否)[^，。！!,；;]{0,16}[^\w。！!]*$"
)
NOT_QUESTION_ZH = re.compile(
    r"没什么|没啥|不管|无论|什么的|什么都|啥都|谁都|怎么都|哪里都|哪儿都|多少都|有什么(?:问题|事)|不知道[为怎什该]|不清楚"
)

# --- small talk ---------------------------------------------------------------------------------------------------

_SOCIAL_EN = """
thanks thank thx thnx thanx tnx ty tyvm cheers np nps welcome yw hi hello hey hiya yo greetings morning evening
afternoon night gn bye cya goodbye later laters cheerio lol lmao rofl haha hahaha heh hehe hehehe xd ok okay k kk
okey oki alright sure cool nice great awesome sweet neat wow yay woot w00t ah aha ahh oh ohh ooh hmm hmmm hm mm mhm
yep yup yeah yea yes no nope nah right true agreed indeed exactly sorry sry apologies oops whoops ouch damn dang
aargh argh ugh brb afk bbl gtg ttyl bored congrats congratulations wb pong ping omg wtf gg done perfect excellent
"""
SOCIAL_EN = frozenset(_SOCIAL_EN.split())
_FILLER_EN = """
a an and the to for of in on at it its it's is im i'm i am me my you u ya your all guys man mate dude bro everyone
so very much many lot lots bunch ton really that that's thats this what was were be been have has a had do did no
not too again anyway then well but just help info tip advice reply answer problem problems worries prob will good
day one here there now back see go going gotta got as always any way got it appreciate know
"""
SMALL_TALK_EN = SOCIAL_EN.union(_FILLER_EN.split())
SOCIAL_START_EN = re.compile(
    r"(?:thanks|thank you|thx|thnx|ty|cheers|sorry|sry|my bad|i apologi[sz]e|apologies|no (?:reason|need) to be sorry|"
    r"no (?:problem|prob|worries)|you'?re welcome|welcome|good (?:morning|night|evening|luck)|"
    r"happy (?:birthday|new year)|nice to (?:meet|see)|see (?:you|ya)|congrat\w*|how are you|"
    r"lol|haha\w*|hehe\w*|omg|wtf|w(?:ow|oo+t))\b"
)
LAUGHS_EN = frozenset({"lol", "lmao", "rofl", "haha", "hahaha", "hahahaha", "hehe", "hehehe"})
TYPO_FIX = re.compile(r"\*+\s?[\w'\-]+|[\w'\-]+\s?\*+|s/[^/]*/[^/]*/?g?")

SOCIAL_ZH = re.compile(
    r"谢谢|多谢|感谢|谢了|谢啦|謝謝|不客气|客气了|别客气|不用谢|没关系|没事|抱歉|不好意思|对不起|辛苦了|你好|您好|大家好|"
    r"早上好|早安|晚安|晚上好|下午好|再见|拜拜|回聊|回头见|加油|恭喜|祝你|生日快乐|新年快乐|哈哈+|呵呵+|嘿嘿+|嘻嘻+|"
    r"233+|666+|好滴|好嘞|好哒|收到|牛[逼批啊]|厉害了?|赞|幸会|久仰"
)
_FILLER_ZH = (
    r"[你您我咱的了呀啊哦呢吧啦哈嘛哟呗嗯噢喔哎唉额呃诶好是对行就都还太真很也那这啥个声们]|答复|回答|回复|帮助|分享|"
    r"解答|告诉|介绍|推荐|可以|知道|明白|大家|朋友|随时|有什么问题|找我|欢迎|非常|[\W_]"
)
FILLER_ZH = re.compile(_FILLER_ZH)
ONLY_FILLER_ZH = re.compile(rf"(?>{_FILLER_ZH})*+")
"""Matches a line that is `FILLER_ZH` throughout."""
BARE_ASSENT = re.compile(
    r"(?:yes|yep|yup|yeah|yea|no|nope|nah|not really|not sure|i think so|i guess|maybe|probably|true|correct|right|"
    r"sure|ok(?:ay)?|of course|是|是的|是啊|是呀|对|对的|对啊|对呀|嗯+|没有|有|有的|没|不是|不|不会|会|会的|能|不能|"
    r"可以|不可以|好|好的|行|不行|知道|不知道|当然)[\s.!,。！，~～、]*"
)
MAX_ASSENT_WORDS = 3
"""The most words that `BARE_ASSENT` can match."""

# --- answers ------------------------------------------------------------------------------------------------------

ADVICE_START_EN = re.compile(
    r"(?:(?:and|or|but|ok(?:ay)?|well|then|so|just|now|also|maybe|first|next|no|yes|yep|yeah|nope|please|simply|"
    r"you could|instead|try to|i'd)\b[\s,.:-]*)*"
    r"(?:(?:try|use|run|type|install|reinstall|uninstall|google|check|see|read|click|press|hit|open|edit|add|remove|"
    r"reboot|restart|unplug|plug|ask|search|download|set|put|enable|disable|select|choose|mention|delete|copy|paste|"
    r"change|join|visit|purge|mount|unmount|boot|log (?:in|out)|make sure|go (?:to|into|with)|(?:have|take) a look|"
    r"look (?:at|in|for|up|under)|do(?:n't| not)|consider|upgrade|update|replace|rename|create|compile|kill)\b"
    r"|(?:sudo|apt-get|apt-cache|apt|aptitude|dpkg|man|pip|npm|git|docker|cd|ls|cat|grep|chmod|chown|systemctl) \S"
    r"|![a-z][\w-]* ?[|>])"
    r"|(?:because|cause|cuz|since)\b|it(?:'s| is)? (?:in|under|called)\b|by (?:using|running|a|the)\b|just by\b"
    r"|with (?:a|the)\b"
)
ADVICE_EN = _phrases(
    "you|u|ya need|can|could|should|must|might|may|gotta|run|type",
    "you|u|ya have|want to",
    "you|u|ya just|only|also|probably|would|will|still|first need|have|can|want|use|run|type|do",
    "you|u|ya use|do",
    "if you want|need|use|have|are|do|can|don't|get|install|run|look",
    "once|after|when you|youve|you've|u",
    "make sure",
)
ASSERT_EN = re.compile(r"(?:yes|yep|yup|nope|no|not)\b[\s,.;:-]+\S|a few|(?:about |around )?\d")

ANSWER_START_ZH = re.compile(
    r"(?:嗯+[，,]?)?(?:"
    r"(?:当然)?(?:知道|记得|认识|了解|听过|听说过|看过|读过|用过|去过|玩过|吃过)(?!了)"
    r"|(?:没|没有)(?:看|听|用|去|玩|吃|读)过|当然|有[的呀啊，,]|没有[，,的啊呀]|是的[，,]|不是[，,的]"
    r"|不(?:知道|清楚|太清楚|会|能|可以|行|用|需要)[，,。了]|可以[的，,啊呀]|必须|这个我|我(?:知道|记得)|因为|由于"
    r"|(?:大概|大约|差不多|应该|好像)?是?\d|(?:地址|电话|门票|价格|时间|答案|原因)(?:是|大概|：|:)|位于"
    r"|在[^，。]{2,30}。?$|[《【]|是(?!啊|呀|吗|挺|很|真|太)[^，。]{2,}"
    r"|你?(?:可以|需要|得先|先|试试|试一下|建议|用|装|打开|重启|点击|点一下|搜一?下|百度|去看)(?!了))"
)
ANSWER_ZH = re.compile(
    r"(?:出生|毕业|成立|位于|上映|发行)[于在]|\d(?:元|小时|分钟|岁|块钱?|公里|米|cm|个月|天)(?:左右)?[的了呢]?[\W_]*$"
    r"|\d月\d*日?[\W_]*$|(?:不知道|不清楚|不太清楚|没听说过)[了呢啊]?[，,。]"
)
NOT_ANSWER_ZH = re.compile(
    r"哦|噢|喔|啊|哇|哎|唉|确实|而且|不过|所以|但|也|还有|更|那|难怪|原来|看来|真|好像|可|对[，,]"
)

# --- all of them --------------------------------------------------------------------------------------------------

PHRASES = NOTIFICATION_EN | QUESTION_EN | ADVICE_EN
PHRASE_STARTS = frozenset(phrase[:2] for phrase in PHRASES)
