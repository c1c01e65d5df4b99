"""What a Chinese clause says of who wrote it. Pure.

Each pattern takes a whole clause: what it does not know, it leaves. What is repeated in one can be read in one way
only: no alternative is made of others, and none is repeated itself. Else a clause could take for ever.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from backscroll_sidecar.preferences.topics import MANNERS
from backscroll_sidecar.preferences.value_types import LANGUAGES

Said = tuple[str, str]
"""A topic and a value."""

_LEAD = (
    r"(?:(?:嗯|哦|啊|那|对了|其实|另外|还有|顺便|说一下|说一句|提一下|大家好|你好|您好|hi|"
    r"hello|嗨|哈喽|好的|好|行|不|是的|"
    r"对|嘿|说实话|老实说|说真的|记住|记一下|麻烦|请注意|补充一下|个人|就|也|反正|总之|没错|谢谢|不好意思)[\s，,]*)*"
)
_TAIL = r"(?:了|啊|呀|哦|啦|呢|吧|哈|嘛|噢|喔|诶|的说|谢谢|哟|滴|就好|就行|就可以|即可|好了)*\s*"
_VERY = (
    r"(?:就|也|都|最|很|非常|特别|超级?|挺|蛮|比较|真的?|还是|一直|一向|平时|更|尤其|最近|现在|可|好|太|"
    r"十分|个人|本人|确实|从来|其实|"
    r"还|又|向来|平常|自己|已经|目前|刚|前不久|上个?[月周]|去年|今年|上星期|年初|终于)*"
)
_I = r"(?:我|俺|本人|我个人|我本人|我呢)"
_STANDING = (
    r"(?:以后|今后|从现在起|从现在开始|从今以后|从今天起|往后|之后|接下来|请|麻烦|都|一律|一直|统一|全部|务必|"
    r"尽量|拜托)"
)
_LANGUAGE = "|".join(
    sorted({name for names in LANGUAGES.values() for name in names if not name.isascii()})
)
_NO_VALUE = re.compile(
    r"^个(?:屁|鬼|头|毛|球|锤子|啥)|^(?:[你您他她它这那此谁哪几得过了的死不没别上着能会要里]|下[来去班课次]|上[来去班课次]|看$|听$|吃$|喝$|玩$|读$|写$|做$|什么|怎么|别人|大家|自己|一个|一下|一起|"
    r"一种|我|咱|有点|这样|那样|"
    r"人家|看你|听你|跟你|和你|所有|任何|其他|被|让|把|为|对|因|就|还|又|才|所以|到|完|看看|来|去了|喜)|"
    r"[你您他她它这那谁\ufffc]|什么|怎么|的(?:想法|建议|方案|主意|话|样子|感觉|说法|意思|回答|东西|那|人|时候|事)|"
    r"[了过着]$|(?:一样|的|得|地|说|想|人|不行|不已|要命|不得了|起来|起|死|多|少|时|后|前)$|我"
)
_SPLIT = re.compile(r"、|和|跟(?!着)|还有|以及")
_MOST_CHARS = 10
_NO_NAME = re.compile(
    r"^(?:[去来起吃喝做干帮买看说写拿给开关打回听想别不滚走等快先过下上把对在跟和也还再怎"
    r"了他她它你您我人车醒出什为多带赶早晚每这那有"
    r"一到发交找问试进学])|什么|怎么|外卖|滴滴|起床|[你您他她我了的]|\ufffc|名字|全名|绰号|外号"
)
_NAME = r"(?P<v>[一-龥·]{1,6}?|[A-Za-z][\w.\-]{0,14}(?: [A-Z][\w.\-]{0,14})?)"
_NO_PLACE = re.compile(
    r"^(?:[这那你他她它哪我]|家|楼|学校|宿舍|酒店|宾馆|附近|隔壁|外面|一[起个]|单元|里|新(?:家|房|地方|公司|办公)|自己|公司|医院|"
    r"农村|乡下|城里|市区|郊区|"
    r"老家|对面|旁边|楼[上下]|地下|出租|租|爸|妈|父母|朋友|同|校|民宿|国外|国内|别|大|小区|\d|"
    r"[一二三四五六七八九十]楼|高层|别墅|公寓)|\ufffc"
)
_PLACE = r"(?P<v>[一-龥]{2,8}?|[A-Z][A-Za-z .\-]{1,30}?)"
_JOBS = (
    r"(?:老师|教师|医生|护士|程序员|工程师|律师|会计师?|设计师|学生|研究生|大学生|高中生|博士生|司机|厨师|"
    r"记者|编辑|翻译|产品经理|销售|警察|"
    r"公务员|作家|画家|摄影师|架构师|教授|研究员|科学家|药剂师|建筑师|演员|歌手|音乐人|咨询师|分析师|"
    r"心理咨询师|导游|空姐|飞行员|"
    r"消防员|军人|农民|老板|店主|快递员|外卖员|自由职业者|前端|后端|运维|测试|开发)"
)
_DIGITS = {word: n for n, word in enumerate("零一二三四五六七八九十")}


class _Rule(NamedTuple):
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], Iterator[Said]]


def said_in(clause: str) -> Iterator[Said]:
    """What a clause says: pairs of a topic and a value."""
    clause = re.sub(r"(?<=[一-龥])\s+(?=[一-龥])", "", clause.strip())
    for rule in _RULES:
        match = rule.pattern.fullmatch(clause)
        if match is not None and (found := [*rule.read(match)]):
            return iter(found)
    return iter(())


# --- values --------------------------------------------------------------------------------------


def _things(text: str) -> Iterator[str]:
    text = re.sub(r"这[个位部首本款种][一-龥]{1,5}$", "", text)
    for part in map(str.strip, _SPLIT.split(text)):
        if not part or len(part) > _MOST_CHARS + 10 * part.isascii() or _NO_VALUE.search(part):
            return
        yield part


_ADJECTIVE = "|".join(sorted((one for one in MANNERS if not one.isascii()), key=len, reverse=True))


# --- rules ---------------------------------------------------------------------------------------


def _likes(match: re.Match[str]) -> Iterator[Said]:
    yield from (("likes", one) for one in _things(match["v"]))


def _dislikes(match: re.Match[str]) -> Iterator[Said]:
    yield from (("dislikes", one) for one in _things(match["v"]))


def _called(match: re.Match[str]) -> Iterator[Said]:
    if not _NO_NAME.search(match["v"]):
        yield "name", match["v"]


def _not_called(match: re.Match[str]) -> Iterator[Said]:
    if not _NO_NAME.search(match["v"]):
        yield "not_called", match["v"]


def _language(match: re.Match[str]) -> Iterator[Said]:
    yield "language", match["v"]


def _manner(match: re.Match[str]) -> Iterator[Said]:
    yield MANNERS[match["v"]]


def _brief(_: re.Match[str]) -> Iterator[Said]:
    yield "length", "short"


def _lives(match: re.Match[str]) -> Iterator[Said]:
    if not _NO_PLACE.search(match["v"]):
        yield "place", match["v"].strip()


def _works(match: re.Match[str]) -> Iterator[Said]:
    if not re.search(
        r"^[这那你他她家努认加一哪]|\ufffc|^(?:外面|公司|这里|附近|外地|线上|网上|晚上|周末|白天)$",
        match["v"],
    ) or match["v"].startswith(("一家", "一个")):
        yield "work", match["v"].removeprefix("一家").removeprefix("一个")


def _is_a(match: re.Match[str]) -> Iterator[Said]:
    if not re.search(r"[你他她不我]|以前", match["v"]):
        yield "work", match["v"]


def _zone(match: re.Match[str]) -> Iterator[Said]:
    yield "time_zone", match["v"]


def _project(match: re.Match[str]) -> Iterator[Said]:
    yield "project", match["v"]


def _birthday(match: re.Match[str]) -> Iterator[Said]:
    month, day = _number(match["m"]), _number(match["d"])
    if 0 < month <= 12 and 0 < day <= 31:
        yield "birthday", f"{month:02d}-{day:02d}"


def _number(text: str) -> int:
    """A number below a hundred."""
    if text.isdecimal():
        return int(text)
    tens, is_ten, ones = text.partition("十")
    if not is_ten:
        return _DIGITS.get(text, 0)
    return 10 * (_DIGITS.get(tens, 1) if tens else 1) + _DIGITS.get(ones, 0)


def _eats_none(_: re.Match[str]) -> Iterator[Said]:
    yield "diet", "吃素"


def _allergic(match: re.Match[str]) -> Iterator[Said]:
    yield from (("diet", f"对{one}过敏") for one in _things(match["v"]))


def _does_not_eat(match: re.Match[str]) -> Iterator[Said]:
    if match["v"] not in (
        "饭",
        "早饭",
        "早餐",
        "午饭",
        "晚饭",
        "晚餐",
        "东西",
        "亏",
        "惯",
        "下",
        "饱",
        "起",
        "完",
        "到",
        "消",
        "准",
        "香",
        "醋",
    ):
        yield from (("diet", f"不吃{one}") for one in _things(match["v"]))


def _rule(expression: str, read: Callable[[re.Match[str]], Iterator[Said]]) -> _Rule:
    return _Rule(re.compile(_LEAD + expression + _TAIL, re.IGNORECASE), read)


_THING = r"(?P<v>[^，。！？,.!?\s\ufffc][^，。！？!?\ufffc]{0,40}?)"
_NUMBER = r"(?:\d{1,2}|[一二三四五六七八九十]{1,3})"
_RULES = (
    _rule(
        rf"{_I}{_VERY}(?:不(?:太|怎么|是很|大)?喜欢|不爱(?!吃|喝)|讨厌|反感|受不了|厌恶|不爱(?=[吃喝]))(?:吃|"
        rf"喝)?{_THING}",
        _dislikes,
    ),
    _rule(
        rf"{_I}{_VERY}(?:喜欢|热爱|偏爱|钟爱|喜爱|酷爱|偏好|爱(?=[吃喝看听玩打跑读写画做])|迷上了?)"
        rf"{_VERY}{_THING}",
        _likes,
    ),
    _rule(rf"{_I}最(?:喜欢|爱)(?:吃|喝|看|听|玩)?的[一-龥]{{1,6}}(?:是|就是|还是|一直是){_THING}", _likes),
    _rule(
        rf"(?:{_STANDING}|你们?|您|大家|各位|就|可以|直接|朋友们?|同事们?|同学们?|别人|平时)*(?:叫|称呼|喊)我(?:为|作|做|一声)?{_NAME}",
        _called,
    ),
    _rule(
        rf"{_I}(?:的(?:名字|昵称|网名|小名|外号))?(?:叫|名叫|名字叫|名字是|的?名字是|昵称是|网名是){_NAME}",
        _called,
    ),
    _rule(rf"{_I}的(?:名字|昵称|网名|小名|外号)是{_NAME}", _called),
    _rule(
        rf"(?:{_STANDING}|你们?|您|大家)*(?:别|不要|不许|请勿|不准|不用|别再|不要再)(?:再|老|总)*(?:叫|喊|称呼)"
        rf"我(?:为|作|做)?{_NAME}",
        _not_called,
    ),
    _rule(
        rf"(?:{_STANDING}|你|您)+(?:都|请|一律|只|就|全)*(?:跟我|和我|给我|对我)?(?:用|说|讲|使用)"
        rf"(?P<v>{_LANGUAGE})(?:来|跟我|和我|给我|对我)*"
        rf"(?:回答|回复|答复|交流|沟通|聊天|聊|说话|对话|交谈|写|作答|回)?(?:我|我的问题|问题)?",
        _language,
    ),
    _rule(
        rf"用(?P<v>{_LANGUAGE})(?:来|跟我|和我|给我|对我)*(?:回答|回复|答复|交流|沟通|聊天|对话|作答)我?",
        _language,
    ),
    _rule(rf"(?:跟我|和我|对我)(?:用|说|讲)(?P<v>{_LANGUAGE})", _language),
    _rule(
        rf"{_I}(?:更|比较|还是|就|只)*(?:喜欢|希望|习惯|想)(?:你|您|大家)?(?:都|能|可以)?用(?P<v>{_LANGUAGE})"
        rf"(?:来|跟我|和我)*(?:回答|回复|交流|聊天|沟通|对话|聊)我?",
        _language,
    ),
    _rule(
        rf"(?:{_STANDING}|你|您)*(?:的)?(?:回答|回复|说话|语气|答案|解释)(?:我)?(?:得|的|要|请|时|"
        rf"能)?(?:尽量|再|更|稍微|都|可以|写得|保持)*"
        rf"(?P<v>{_ADJECTIVE})(?:一点儿?|点儿?|一些|些)?",
        _manner,
    ),
    _rule(
        rf"{_I}{_VERY}(?:喜欢|偏好|想要|希望要|需要|要){_VERY}(?P<v>{_ADJECTIVE})(?:一点|点|一些)?的(?:回答|"
        rf"回复|答案|语气|风格|解释|说法)",
        _manner,
    ),
    _rule(rf"(?:{_STANDING}|你|您)*(?:别|不要)(?:太|那么|这么|再)?(?:啰嗦|罗嗦|长篇大论|废话)", _brief),
    _rule(
        rf"{_I}{_VERY}(?:和家人|跟家人|一家|一家人|一个人)?(?:住在|定居在|居住在|定居|常住|家住|长住)"
        rf"了?{_PLACE}(?:这边|那边|生活|工作)?",
        _lives,
    ),
    _rule(
        rf"{_I}{_VERY}(?:和家人|跟家人|一家|一家人)?(?:搬到|搬去|搬来|搬家到|移居到?|搬回)了?{_PLACE}(?:来|去|"
        rf"这边|那边|生活|工作|住|定居)*",
        _lives,
    ),
    _rule(rf"{_I}{_VERY}在{_PLACE}(?:生活|定居|居住|住)(?:了?[一二三四五六七八九十两几\d]+年)?", _lives),
    _rule(rf"{_I}{_VERY}在(?P<v>[^，。！？,!?\s]{{2,12}}?)(?:工作|上班|任职|就职)", _works),
    _rule(rf"{_I}{_VERY}是(?:一名|一个|一位|个|名|位|做|当)?(?P<v>[一-龥A-Za-z]{{0,6}}?{_JOBS})的?", _is_a),
    _rule(rf"{_I}的(?:工作|职业)是(?:一名|一个|一位|做|当)?(?P<v>[一-龥A-Za-z]{{2,10}})", _is_a),
    _rule(rf"{_I}(?:的时区|所在的?时区|这边的?时区)(?:是|为)(?P<v>[\w+:/\-]{{2,20}})", _zone),
    _rule(rf"{_I}{_VERY}在(?P<v>[东西][一二三四五六七八九十]{{1,2}}区)", _zone),
    _rule(rf"{_I}的项目(?:名字|名)?(?:叫做?|名叫|是叫){_NAME}", _project),
    _rule(
        rf"{_I}{_VERY}(?:正)?在(?:做|开发|写|搞)(?:一个|一款)?(?:叫做?|名叫|名为){_NAME}的(?:项目|应用|游戏|"
        rf"软件|小程序|机器人|网站|工具)",
        _project,
    ),
    _rule(rf"{_I}的?生日(?:是|在)?(?:农历|阳历)?(?:\d{{4}}年)?(?P<m>{_NUMBER})月(?P<d>{_NUMBER})[日号]?", _birthday),
    _rule(rf"{_I}{_VERY}(?:是)?(?:一个|个)?(?:素食者|素食主义者|纯素食?者?|吃素|只吃素)的?", _eats_none),
    _rule(rf"{_I}{_VERY}对{_THING}{_VERY}过敏", _allergic),
    _rule(rf"{_I}{_VERY}不(?:能|会|可以)?吃{_THING}", _does_not_eat),
)  # fmt: skip
