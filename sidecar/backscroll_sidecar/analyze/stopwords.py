"""Words without a topic: closed-class words of English and Chinese, and chat filler.

Our own lists, written for chat. Chinese is given in both scripts where they differ. Japanese particles are single
kana and are dropped by length, not by list (see `keywords`).
"""

from __future__ import annotations

_ENGLISH = """
a an the this that these those
i me my mine myself we us our ours ourselves you your yours yourself yourselves u ur ya
he him his himself she her hers herself it its itself they them their theirs themselves one ones
am is are was were be been being do does did doing done have has had having
can could will would shall should may might must gonna wanna gotta
and or but nor so if then than because as while though although unless until
of at by for with about into onto from to in on off out over under up down through during between
not no yes yeah yep yup nope ok okay oh ah eh uh um hm hmm huh well just only also too very really quite
here there now when where why how what which who whom whose again still even ever already
all any some such each every both either neither other others another more most much many
hi hello hey thanks thank thx ty please pls plz sorry lol haha hehe heh lmao rofl btw imho imo np
im ive id ill youre youve youll hes shes theyre theyve were weve thats theres whats wheres hows whos lets
dont doesnt didnt isnt arent wasnt werent cant cannot couldnt wont wouldnt shouldnt hasnt havent hadnt aint
i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'd it'll
we're we've we'd we'll they're they've they'd they'll that's that'll that'd there's there'll what's who's
let's don't doesn't didn't isn't aren't wasn't weren't can't couldn't won't wouldn't shouldn't hasn't haven't
hadn't ain't how's where's when's why's here's y'all
s t d m re ve ll http https www
"""

_CHINESE = """
的 了 是 我 你 您 他 她 它 们 們 我们 我們 你们 你們 他们 他們 她们 她們 它们 它們 咱 咱们 咱們 自己 大家 人家
在 有 和 与 與 跟 及 或 就 不 也 都 很 还 還 又 再 才 只 却 卻 而 且 并 並 但
但是 而且 或者 还是 還是 因为 因為 所以 如果
吗 嗎 呢 吧 啊 呀 哦 噢 嗯 嗯嗯 哈 哈哈 哈哈哈 呵呵 嘿嘿 嘛 啦 喔 唉 哎 诶 哇 哟 咯 呗 么 麼
这 這 那 哪 这个 這個 那个 那個 哪个 哪個 这些 這些 那些 哪些 这里
這裡 那里 那裡 哪里 哪裡 这儿 那儿 哪儿 这样 這樣 那样 那樣
什么 什麼 怎么 怎麼 怎样 怎麼樣 怎么样 为什么 為什麼 谁 誰 啥 咋 几 幾 多少 如何 是不是 有没有 有沒有
个 個 一个 一個 一 一下 一些 一点 一點 些 点 點 次 位 种 種
要 会 會 说 說 到 去 上 下 来 來 想 看 能 可以 应该 應該 可能 没 沒 没有 沒有 不是 就是 还有 還有 只是 可是
着 著 被 把 给 給 对 對 过 過 从 從 让 讓 向 往 为 為 以 于 於 之 其 所 得 地 等
好 好的 好吧 是的 对的 對的 行 知道 觉得 覺得 谢谢 謝謝 你好 您好 请 請 请问 請問
真 真的 太 最 更 比较 比較 非常 特别 特別 已经 已經 现在 現在 然后 然後 后 後 里 裡 中
"""

STOP_WORDS: frozenset[str] = frozenset((_ENGLISH + _CHINESE).split())


def is_stop_word(word: str) -> bool:
    """Whether a word, in lower case, is one of `STOP_WORDS`."""
    return word in STOP_WORDS
