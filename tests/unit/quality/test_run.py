"""The order in which a set is heard and asked, and what makes a judgement void."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from backscroll_bench.quality import LiveServer, Misjudged, find_set, judge, lived, read_set
from backscroll_bench.quality.data import SELF_ID
from backscroll_bench.quality.run import BATCH_LINES
from tests.unit.quality.sets import MEMORY, MESSAGES, REPLY, START, written


def degraded(reason):
    return SimpleNamespace(stage="gather", source="semantic", reason=reason)


@dataclass
class FakeClient:
    """Writes down what it is told and answers with the message that `answer` names."""

    answer: tuple[str, ...] = ("m1", "m0")
    degradations: tuple = ()
    lost: int = 0
    ready: bool = True
    calls: list = field(default_factory=list)
    links: list = field(default_factory=list)
    scored_by: tuple[str, ...] = ()
    asked_as: list = field(default_factory=list)
    roles: list = field(default_factory=list)

    def append(self, channel, messages):
        self.calls.append(("append", channel, [one.id for one in messages]))
        self.links += [one.reply_to for one in messages]
        self.roles += [(one.author.id, one.role) for one in messages]
        return SimpleNamespace(stored=len(messages) - self.lost, problems=())

    def wait_for_index(self, channel, wait_s):
        self.calls.append(("wait",))
        return SimpleNamespace(ready=self.ready)

    def build_context(self, channel, question, *, asker, asked_at, profile, overrides, **more):
        self.links.append(("asked", more["reply"], [one.user_id for one in more["mentions"]]))
        self.calls.append(("ask", question, asker.id, asked_at, profile, overrides.max_context))
        self.asked_as.append((more["trigger_message_id"], more["self_ids"]))
        items = [SimpleNamespace(rank=rank, message=SimpleNamespace(id=one))
                 for rank, one in enumerate(self.answer, start=1)]  # fmt: skip
        told = [SimpleNamespace(scored_by=one) for one in self.scored_by if more.get("explain")]
        explanation = SimpleNamespace(candidates=told)
        return SimpleNamespace(
            items=items[::-1], degradations=self.degradations, explanation=explanation
        )


def chats(folder, queries):
    return read_set(*find_set(written(folder, queries=queries)))


def test_what_came_before_is_heard_then_every_profile_is_asked(tmp_path):
    queries = [{**REPLY, "query_id": "late", "message_id": "m4", "gold": ["m3"]}, REPLY]
    client, done = FakeClient(), []
    found = judge(
        chats(tmp_path, queries),
        LiveServer(client, "q"),
        ["a", "b"],
        ["bm25"],
        progress=done.append,
    )
    assert client.calls == [
        ("append", "q/chat/g", ["m0", "m1", "m2"]), ("wait",),
        ("ask", "ben: thanks", "u1", START + 180_000, "a", 50), ("ask", "ben: thanks", "u1", START + 180_000, "b", 50),
        ("append", "q/chat/g", ["m3"]), ("wait",),
        ("ask", "the weather is fine", "u2", START + 240_000, "a", 50),
        ("ask", "the weather is fine", "u2", START + 240_000, "b", 50),
    ]  # fmt: skip
    assert [one.selector for one in found] == ["recency", "bm25", "a", "b"]
    assert [score.values["hit@1"] for score in found[2].scores] == [1.0, 0.0]
    assert found[2].groups == ["g", "g"]
    assert done == [1, 1]


def test_a_question_about_long_ago_is_asked_after_everything(tmp_path):
    client = FakeClient()
    (_, one) = judge(chats(tmp_path, [MEMORY]), LiveServer(client), ["a"])
    assert client.calls[0][2] == ["m0", "m1", "m2", "m3", "m4"]
    assert client.calls[-1] == ("ask", "the key?", "u3", START + 900_000, "a", 50)
    assert one.scores[0].values["recall@5"] == 1.0


@pytest.mark.parametrize(
    ("client", "says"),
    [
        (FakeClient(degradations=(degraded("FAILED"),)), "degraded"),
        (FakeClient(lost=1), "not stored"),
        (FakeClient(ready=False), "not ready"),
        (FakeClient(answer=("m3",)), "unknown, later or repeated"),
        (FakeClient(answer=("x",)), "unknown, later or repeated"),
        (FakeClient(answer=("m0", "m0")), "unknown, later or repeated"),
    ],
)
def test_an_answer_that_cannot_be_judged_is_an_error_not_a_low_score(tmp_path, client, says):
    with pytest.raises(Misjudged, match=says):
        judge(chats(tmp_path, [REPLY]), LiveServer(client), ["a"])


def test_links_and_mentions_are_sent_as_the_set_has_them(tmp_path):
    linked = [
        {**row, "explicit_reply_to": "m0"} if row["message_id"] in {"m1", "m3"} else row
        for row in MESSAGES
    ]
    client = FakeClient()
    given = read_set(*find_set(written(tmp_path, linked)), explicit=True)
    judge(given, LiveServer(client), ["a"])
    assert client.links == [None, "m0", None, ("asked", "m0", ["u2"])]


@pytest.mark.parametrize(
    ("scored_by", "share"),
    [
        ((), 0.0),
        (("link", "conversation", "score"), 0.0),
        (("link", "memory"), 1.0),
        (("meaning",), 1.0),
    ],
)
def test_a_score_of_the_history_tells_that_it_was_ranked(tmp_path, scored_by, share):
    client = FakeClient(scored_by=scored_by)
    recency, one = judge(chats(tmp_path, [REPLY]), LiveServer(client), ["a"])
    assert one.scores[0].values["history_share"] == share
    assert "history_share" not in recency.scores[0].values


def test_a_live_question_is_a_stored_line_that_the_bot_names(tmp_path):
    """ann, the bot, ann: her last line is the question, and no line of the chat is chosen behind it."""
    talk = {**MEMORY, "dialogue_so_far": "hello\nhi cat\nthe key?"}
    client = FakeClient()
    judge(lived(chats(tmp_path, [talk])), LiveServer(client), ["a"])
    said = client.calls[0][2]
    assert said == ["m0", "m1", "m2", "m3", "m4", "q2/talk/0", "q2/talk/1", "q2/talk/2"]
    assert client.roles[-3:] == [("u3", "user"), (SELF_ID, "assistant"), ("u3", "user")]
    assert client.asked_as == [("q2/talk/2", (SELF_ID,))]
    with pytest.raises(Misjudged, match="later"):
        judge(lived(chats(tmp_path, [talk])), LiveServer(FakeClient(answer=("q2/talk/2",))), ["a"])


def test_other_questions_name_no_line_and_no_bot(tmp_path):
    client = FakeClient()
    judge(chats(tmp_path, [REPLY]), LiveServer(client), ["a"])
    assert client.asked_as == [(None, ())]
    assert {role for _, role in client.roles} == {"user"}


def test_a_source_that_the_server_never_had_is_named(tmp_path):
    client = FakeClient(degradations=(degraded("NOT_CONFIGURED"),))
    recency, one = judge(chats(tmp_path, [REPLY]), LiveServer(client), ["a"])
    assert (recency.without, one.without) == ([], ["semantic"])


def test_long_gaps_are_appended_in_batches(tmp_path):
    many = [{**MESSAGES[0], "message_id": f"n{n}"} for n in range(BATCH_LINES + 1)]
    client = FakeClient(answer=())
    judge(chats_of(tmp_path, [*many, *MESSAGES]), LiveServer(client), ["a"])
    sizes = [len(call[2]) for call in client.calls if call[0] == "append"]
    assert sizes == [BATCH_LINES, 4]


def chats_of(folder, messages):
    return read_set(*find_set(written(folder, messages)))
