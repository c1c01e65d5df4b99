"""Lines with a fact each, ten English and ten Chinese in a list, and the chat they are planted in."""

import gzip
import json
import random
from importlib import resources
from itertools import product

from backscroll_sidecar.summaries.key_lines import ChatLine

TUNED = (
    ("the refund is filed under ORDER-77431, keep that handy", "ORDER-77431"),
    ("my sister Margarita is flying in from Lisbon", "Margarita"),
    ("the wifi password at the cabin is heron-4417-blue", "heron-4417-blue"),
    (
        "slides are at https://example.org/talks/otters-2026",
        "https://example.org/talks/otters-2026",
    ),
    ("we decided to go with the green tiles for the kitchen", "green tiles"),
    ("I'm allergic to peanuts by the way, so no satay for me", "peanuts"),
    ("rent goes up to $1,850 from next month", "$1,850"),
    ("dentist moved me to March 14 at 9:30", "March 14"),
    ("mail the form to nadia.k@example.com when you're done", "nadia.k@example.com"),
    ("the deadline for the grant is 30 April", "30 April"),
    ("我叫李建国，以后多关照", "李建国"),
    ("订单号是SF1382047756，麻烦查一下", "SF1382047756"),
    ("咱们约好周六下午三点在人民公园门口见", "人民公园"),
    ("我对海鲜过敏，点菜的时候别点虾", "海鲜"),
    ("房租从下个月起涨到3200元", "3200元"),
    ("王老师说期末考试改到6月18号", "6月18号"),
    ("我女儿今年上三年级，最喜欢恐龙", "恐龙"),
    ("推荐大家看《长安的荔枝》，真的不错", "长安的荔枝"),
    ("我下周要去成都出差，大概待五天", "成都"),
    ("报名截止到10月20日，别忘了", "10月20日"),
)
HELD_OUT = (
    ("tracking number for the couch is 1Z884XK20 if anyone asks", "1Z884XK20"),
    ("Dr. Okafor takes over the clinic in July", "Okafor"),
    ("the alarm code is 5521#", "5521"),
    ("full recipe is on www.sourdoughdiary.net/rye", "www.sourdoughdiary.net/rye"),
    ("ok so it's settled, we drive instead of flying", "drive instead of flying"),
    ("I can't eat gluten, learned that the hard way", "gluten"),
    ("the used bike cost me 240 euros in the end", "240 euros"),
    ("grandma turns 90 on September 3rd", "September 3rd"),
    ("we're moving to Rotterdam once the lease is over", "Rotterdam"),
    ("bug is tracked as PAY-2093, Ingrid has it", "PAY-2093"),
    ("我妈妈姓欧阳，住在青岛", "青岛"),
    ("会议室改到B座1207了", "1207"),
    ("新来的同事叫陈思雨，负责前端", "陈思雨"),
    ("车牌是沪A88K62，停在地下二层", "沪A88K62"),
    ("决定了，今年国庆去敦煌", "敦煌"),
    ("我不吃香菜，外卖记得备注", "香菜"),
    ("体检报告显示血糖7.8，医生让少吃甜的", "7.8"),
    ("快递放在菜鸟驿站，取件码是6-3-2041", "6-3-2041"),
    ("客服电话是400-820-3355，工作日才有人", "400-820-3355"),
    ("我养了一只柯基，叫豆包", "豆包"),
)
SPEAKERS = ("Anna", "Tom", "小林", "老周", "mika", "阿杰")
_TALK_ZH = """
今天好热啊，都不想动
哈哈哈哈笑死我了
你们吃饭了吗
刚睡醒，头有点晕
这个我也觉得挺好的
晚点再说吧，我先忙
好的好的，没问题
谁有空帮我看一眼
昨天那个电影你们看了没
我也想看，一直没时间
路上堵得要命
外面又下雨了
周末大家都干嘛呢
我在家躺着，什么都没做
太难了，真的不想加班
老板又开会，烦死了
早点休息吧，别熬夜
嗯嗯，我知道了
这家奶茶一般，太甜
下次换一家试试
你说得对，我再想想
有点意思，发我看看
没事没事，别放在心上
谢谢啦，帮大忙了
我手机快没电了
回家再聊
可以啊，听起来不错
感觉最近都好忙
那就这样吧
等我一下，马上来
""".strip().splitlines()
_MOODS_ZH = "说真的，", "唉，", "对了，", "哎呀，", ""


def filler(count: int, seed: int) -> list[str]:
    """Talk without planted facts: three in five lines from a real English channel, the others Chinese chat."""
    path = resources.files("backscroll_sidecar") / "data" / "demo_chat.jsonl.gz"
    english = [
        json.loads(row)["content"] for row in gzip.decompress(path.read_bytes()).splitlines()
    ]
    chinese = ["".join(both) for both in product(_MOODS_ZH, _TALK_ZH)]
    rng = random.Random(seed)
    texts = rng.sample(english, count * 3 // 5)
    texts += rng.choices(chinese, k=count - len(texts))
    rng.shuffle(texts)
    return texts


def planted_chat(facts: tuple[tuple[str, str], ...], seed: int, count: int = 300) -> list[ChatLine]:
    """A chat of `count` lines with the facts at random places."""
    rng = random.Random(seed)
    texts = filler(count - len(facts), seed)
    for text, _ in facts:
        texts.insert(rng.randrange(len(texts) + 1), text)
    return as_lines(texts, rng)


def as_lines(texts: list[str], rng: random.Random, prefix: str = "m") -> list[ChatLine]:
    return [ChatLine(f"{prefix}{i}", rng.choice(SPEAKERS), text) for i, text in enumerate(texts)]


def kept(summary: str, facts: tuple[tuple[str, str], ...]) -> list[str]:
    """Which facts the summary has."""
    return [fact for _, fact in facts if fact in summary]
