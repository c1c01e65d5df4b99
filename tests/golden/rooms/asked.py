"""Messages in rooms, and what must come of each: written down by hand, from the rules and not from the code.

The rules: a participant is found by name, nickname and alias, without case. A mention names a persona, and only those
that are named answer; without one all do. What prompts have is the text without the mentions, or, where nothing else is
in it, the text as it is. Prompts show the newest 20 messages. A workflow heeds no mention: the persona of the current
node answers, and its task is the first message of a person, what people added later numbered behind it in order.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from backscroll.v1 import session_pb2 as pb

PERSONA, HUMAN = pb.PARTICIPANT_KIND_PERSONA, pb.PARTICIPANT_KIND_HUMAN
CATS = (
    pb.Participant(
        id="black", kind=PERSONA, name="小黑", nickname="黑黑", aliases=["Blacky"], persona="黑猫"
    ),
    pb.Participant(id="white", kind=PERSONA, name="小白", persona="白猫"),
    pb.Participant(id="grey", kind=PERSONA, name="小灰", persona="灰猫"),
    pb.Participant(id="u1", kind=HUMAN, name="安安"),
)
MODELS = (
    pb.Participant(
        id="opus", kind=PERSONA, name="Opus", nickname="Op", aliases=["Big One"], persona="a writer"
    ),
    pb.Participant(id="sonnet", kind=PERSONA, name="Sonnet", persona="a critic"),
    pb.Participant(id="haiku", kind=PERSONA, name="Haiku", persona="a tester"),
    pb.Participant(id="u1", kind=HUMAN, name="Ann"),
)
LOOKUP = {
    "zh": {
        "black": "black", "小黑": "black", "黑黑": "black", "Blacky": "black", "white": "white", "小白": "white",
        "grey": "grey", "小灰": "grey", "u1": "u1", "安安": "u1",
    },
    "en": {
        "opus": "opus", "Opus": "opus", "Op": "opus", "Big One": "opus", "sonnet": "sonnet", "Sonnet": "sonnet",
        "haiku": "haiku", "Haiku": "haiku", "u1": "u1", "Ann": "u1",
    },
}  # fmt: skip
ROLES = {
    "zh": {"coder": "black", "reviewer": "white", "tester": "grey"},
    "en": {"coder": "opus", "reviewer": "sonnet", "tester": "haiku"},
}
ALL = {"zh": ("black", "white", "grey"), "en": ("opus", "sonnet", "haiku")}


@dataclass(frozen=True)
class Case:
    """A message, where it is said, and what must come of it.

    Attributes
    ----------
    named : whom the message names, with the code points of the mention.
    answers : who answers, where that is neither those named nor, as nobody is, all.
    clean : the text without the mentions that are heeded; None: as it is.
    user : what prompts have; None: `clean`.
    history : what was said before, a line each, "WHO: TEXT", or how many lines of a person there are.
    shown : the first and the last of these lines that prompts show, counted from 0; None: none.
    task : of a workflow.
    config, state : of the mode; a role_map is put in where the config of a workflow has none.
    ignored : names that lead to nobody.
    """

    about: str
    language: str
    text: str
    named: tuple[tuple[str, int, int], ...] = ()
    clean: str | None = None
    user: str | None = None
    answers: tuple[str, ...] | None = None
    reason: str = ""
    history: int | tuple[str, ...] = 0
    shown: tuple[int, int] | None = None
    mode: str = "free_chat"
    config: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] | None = None
    task: str = ""
    ignored: tuple[tuple[str, str], ...] = ()

    @property
    def participants(self) -> tuple[pb.Participant, ...]:
        return CATS if self.language == "zh" else MODELS

    @property
    def role_config_json(self) -> str:
        usual = {"role_map": ROLES[self.language]} if self.mode == "workflow" else {}
        return json.dumps(usual | self.config)

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Who said what before."""
        if isinstance(self.history, int):
            return [("u1", f"第 {one} 句 line {one}") for one in range(self.history)]
        return [(one.split(": ", 1)[0], one.split(": ", 1)[1]) for one in self.history]

    def expected(self) -> dict[str, Any]:
        """What must come of it, field by field."""
        named = tuple(one for one, _, _ in self.named)
        answers = self.answers if self.answers is not None else named or ALL[self.language]
        clean = self.text if self.clean is None else self.clean
        lines = [text for _, text in self.lines]
        return {
            "lookup": LOOKUP[self.language],
            "targets": [(one, self.reason or ("MENTION" if named else "ALL")) for one in answers],
            "mentions": list(self.named),
            "ignored": list(self.ignored),
            "clean text": clean,
            "user text": clean if self.user is None else self.user,
            "history": lines[self.shown[0] : self.shown[1] + 1] if self.shown else [],
            "task": self.task,
            "contexts": list(answers),
            "mode": self.mode,
        }


def working(node: str, first: str = "h0") -> dict[str, Any]:
    """A workflow at a node, whose task began with that line."""
    return {
        "current_node": node,
        "status": "working",
        "rejections": 0,
        "task": 1,
        "task_message_id": first,
    }


R = "ROLE_MAP"
G = "GROUP_MENTION"
QUIZ = {"questions": [{"text": "1 + 1?", "answers": ["2"]}]}
TALK = ("u1: 早", "black: 早上好", "u1: 吃了吗", "white: 吃了", "grey: 没有")
CHAT = ("u1: morning", "opus: good morning", "u1: any news?", "sonnet: none", "haiku: nor here")
ZH = (
    Case("by name", "zh", "@小黑 你好", (("black", 0, 3),), "你好"),
    Case("by nickname", "zh", "@黑黑 你好", (("black", 0, 3),), "你好"),
    Case("by alias, in another case", "zh", "@BLACKY 你好", (("black", 0, 7),), "你好"),
    Case("inside a sentence, without blanks", "zh", "请@小黑来看看", (("black", 1, 4),), "请来看看"),
    Case("at the end", "zh", "我问问 @小灰", (("grey", 4, 7),), "我问问"),
    Case("two", "zh", "@小黑 @小白 一起看", (("black", 0, 3), ("white", 4, 7)), "一起看"),
    Case("two, in the order of the text", "zh", "@小灰 和 @小黑 谁快", (("grey", 0, 3), ("black", 6, 9)), "和 谁快"),
    Case("each once", "zh", "@小黑 @小黑 @黑黑 看", (("black", 0, 3),), "看"),
    Case("nobody", "zh", "大家好"),
    Case("nothing but a mention", "zh", "@小黑", (("black", 0, 3),), "", "@小黑"),
    Case("nothing but two", "zh", "@小白 @小灰", (("white", 0, 3), ("grey", 4, 7)), "", "@小白 @小灰"),
    Case("a name that nobody has", "zh", "@小黄 你好", ignored=(("小黄", "UNKNOWN"),)),
    Case("a full-width sign", "zh", "＠小白 你好", (("white", 0, 3),), "你好"),
    Case("everybody", "zh", "@所有人 开会", clean="开会", answers=("black", "white", "grey"), reason=G),
    Case("a person is no target", "zh", "@安安 你怎么看"),
    Case("a name without the sign is none", "zh", "小黑在哪里"),
    Case("all of a short history", "zh", "@小黑 接着说", (("black", 0, 3),), "接着说", history=TALK, shown=(0, 4)),
    Case("20 are shown", "zh", "然后呢", history=20, shown=(0, 19)),
    Case("21 are one too many", "zh", "然后呢", history=21, shown=(1, 20)),
    Case("the newest of 45", "zh", "@小灰 @小白 总结", (("grey", 0, 3), ("white", 4, 7)), "总结", history=45,
         shown=(25, 44)),
    Case(
        "a workflow begins with its first node, whoever is named", "zh", "@小灰 写一个排序函数",
        answers=("black",), reason=R, mode="workflow", task="主任务：@小灰 写一个排序函数",
    ),
    Case(
        "a workflow goes on at its node, with what was added", "zh", "还要快", answers=("white",), reason=R,
        mode="workflow",
        history=("u1: 写一个排序函数", "black: 写好了", "u1: 要稳定的"), shown=(0, 2), state=working("reviewer"),
        task="主任务：写一个排序函数\n补充要求：\n1. 要稳定的\n2. 还要快",
    ),
    Case(
        "a workflow with its roles shared out otherwise", "zh", "@小黑 再看看", answers=("black",), reason=R,
        mode="workflow",
        config={"role_map": {"coder": "grey", "reviewer": "white", "tester": "black"}},
        history=("u1: 查一个错误",), shown=(0, 0), state=working("tester"),
        task="主任务：查一个错误\n补充要求：\n1. @小黑 再看看",
    ),
    Case(
        "a workflow of other nodes", "zh", "写首诗", answers=("white",), reason=R, mode="workflow",
        config={"nodes": ["写", "审"], "role_map": {"写": "white", "审": "grey"}}, task="主任务：写首诗",
    ),
    Case("a quiz heeds mentions", "zh", "@小白 准备好了吗", (("white", 0, 3),), "准备好了吗", mode="quiz", config=QUIZ),
)  # fmt: skip
EN = (
    Case("by name", "en", "@Opus hello", (("opus", 0, 5),), "hello"),
    Case("by nickname, in another case", "en", "@op hello", (("opus", 0, 3),), "hello"),
    Case("by an alias of two words", "en", "@Big One hello", (("opus", 0, 8),), "hello"),
    Case("by id", "en", "@haiku hello", (("haiku", 0, 6),), "hello"),
    Case("inside a sentence", "en", "please @Sonnet have a look", (("sonnet", 7, 14),), "please have a look"),
    Case("at the end", "en", "who knows? @Haiku", (("haiku", 11, 17),), "who knows?"),
    Case("two", "en", "@Opus @Sonnet compare", (("opus", 0, 5), ("sonnet", 6, 13)), "compare"),
    Case("two, in the order of the text", "en", "@Haiku or @Opus then", (("haiku", 0, 6), ("opus", 10, 15)), "or then"),
    Case("each once", "en", "@OPUS @opus @Op look", (("opus", 0, 5),), "look"),
    Case("nobody", "en", "hello everyone"),
    Case("nothing but a mention", "en", "@Haiku", (("haiku", 0, 6),), "", "@Haiku"),
    Case("nothing but two", "en", "@Opus @Haiku", (("opus", 0, 5), ("haiku", 6, 12)), "", "@Opus @Haiku"),
    Case("a name that nobody has", "en", "@Gemini hello", ignored=(("Gemini", "UNKNOWN"),)),
    Case("a longer name is another one", "en", "@opus-45 hello", ignored=(("opus-45", "UNKNOWN"),)),
    Case("an address is no mention", "en", "write to me@opus.com please"),
    Case("everybody", "en", "@all we meet", clean="we meet", answers=("opus", "sonnet", "haiku"), reason=G),
    Case("a person is no target", "en", "@Ann what do you think"),
    Case("all of a short history", "en", "@Opus go ahead", (("opus", 0, 5),), "go ahead", history=CHAT, shown=(0, 4)),
    Case("20 are shown", "en", "and then?", history=20, shown=(0, 19)),
    Case("21 are one too many", "en", "and then?", history=21, shown=(1, 20)),
    Case("the newest of 45", "en", "@Haiku sum up", (("haiku", 0, 6),), "sum up", history=45, shown=(25, 44)),
    Case(
        "a workflow begins with its first node, whoever is named", "en", "@Haiku write a sort",
        answers=("opus",), reason=R, mode="workflow", task="Task: @Haiku write a sort",
    ),
    Case(
        "a workflow goes on at its node, with what was added", "en", "and fast", answers=("haiku",), reason=R,
        mode="workflow", history=("u1: write a sort", "opus: done", "u1: make it stable", "sonnet: fine"), shown=(0, 3),
        state=working("tester"), task="Task: write a sort\nAdded later:\n1. make it stable\n2. and fast",
    ),
    Case(
        "a task does not hold what was said before it", "en", "make it short", answers=("sonnet",), reason=R,
        mode="workflow", history=("u1: good morning", "u1: write a poem"), shown=(0, 1),
        state=working("reviewer", "h1"), task="Task: write a poem\nAdded later:\n1. make it short",
    ),
    Case("a quiz heeds mentions", "en", "@Sonnet are you ready", (("sonnet", 0, 7),), "are you ready", mode="quiz",
         config=QUIZ),
)  # fmt: skip
CASES = (*ZH, *EN)
