"""What asks a bot to go on, and what asks for something else."""

import pytest

from backscroll_sidecar.analyze.going_on import asks_to_go_on

GO_ON = """
continue|Continue.|continue please|please continue|can you continue?|Could you go on?|go on|go on!|keep going|carry on
proceed|resume|more|tell me more|and then?|then what?
what happens next?|what's next?|finish the story|finish your answer
finish it please
continue the story|continue with the story|continue where you left off|go on from where you stopped
you were cut off, continue|ok, go on|yes please continue|keep writing
the rest|give me the rest|@Cat continue|/ask go on
@Cat, continue please|Cat: go on|go ahead|continue from there|carry on with it|please finish that
继续|继续。|请继续|继续说|接着说|接着讲吧|继续写下去|往下说|说下去|讲下去呀|然后呢|然后呢？|后来呢|还有呢？|下文呢|续写
继续吧|你继续
好的，继续|繼續|請繼續說|接着|接下来呢|没说完|把它说完|说完吧|@小黑 继续|@小黑继续|能继续吗|可以继续吗？|继续回答
剩下的呢
"""
NOT = """
what is up?|continue the deploy to production at noon
the meeting will continue|how do I continue this game with my friend?
more coffee|is there more?|next train to Basel?|then we went home
finish your homework before six|go home|go on vacation
stop|no|thanks|ok|yes|please|I will continue tomorrow|who goes on?|tell me about cats|keep it|what then is the price?
你好|继续教育是什么？|他们继续开会|然后我们走了|后来他去哪了？|说说天气
请问几点|好的|谢谢|可以|写一首诗|还有多少钱|接着他说了什么
"""


def lines(text: str) -> list[str]:
    return [one for one in text.replace("\n", "|").split("|") if one]


@pytest.mark.parametrize("text", lines(GO_ON))
def test_it_asks_to_go_on(text):
    assert asks_to_go_on(text, ("Cat", "小黑"))


@pytest.mark.parametrize("text", [*lines(NOT), "", "  ", "@Cat", "more " * 40])
def test_it_asks_for_something_else(text):
    assert not asks_to_go_on(text, ("Cat", "小黑"))
