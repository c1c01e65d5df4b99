"""What Backscroll is compared with is asked for the same: an answer, the nearest rows, every delta, the same chat."""

import io
import json
import sys
import time
from contextlib import AsyncExitStack, ExitStack, contextmanager

import numpy as np
import pytest

from backscroll.v1 import context_pb2, message_pb2
from backscroll_bench.peers import worker
from backscroll_bench.peers.memories import Said, Stub
from backscroll_bench.speed import (
    assembly,
    chats,
    peers,
    questions,
    relay,
    semantic,
    streams,
    upstream,
    vectors,
)
from backscroll_bench.speed.children import child
from backscroll_bench.speed.echo import echo_server
from backscroll_bench.speed.fixture import Bench
from backscroll_bench.speed.load import Questions, open_channel
from backscroll_bench.speed.sizes import sizes
from backscroll_bench.speed.stats import Absent, Wrong
from backscroll_scoring.index import normalised


@contextmanager
def no_server(flags, directory):
    raise AssertionError("nothing here needs a server")
    yield


async def nobody(request):
    raise AssertionError("nothing is asked here")


@pytest.fixture
async def bench(tmp_path):
    with ExitStack() as stack:
        async with AsyncExitStack() as connections:
            yield Bench(
                no_server,
                tmp_path,
                tmp_path,
                "127.0.0.1:1",
                sizes(2, quick=True),
                stack,
                connections,
            )


# --- R0 ----------------------------------------------------------------------------------------------


async def test_r0_answers_each_request_with_as_many_bytes_as_the_server_does(bench):
    asked = Questions(nobody, [b"one", b"two", b"three"], [5, 7_000, 0])
    with echo_server() as bench.echo:
        call = await bench.r0_to(asked)
        assert [len(await call(one)) for one in asked.requests] == asked.replies
    assert asked.reply_bytes == 5


# --- answers -----------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_an_answer_is_written_by_hand_too_and_both_are_timed(bench):
    reading = (await assembly.assembly(bench))["speedup"]
    assert reading.value > 0
    assert reading.details["reply_bytes"] > 2_000
    assert len(reading.rounds.values) == 2


def test_an_answer_of_another_length_is_no_comparison():
    with pytest.raises(Wrong, match="0 messages in an answer that should have 20"):
        assembly.ByHand(b"", b"{}")


# --- search ------------------------------------------------------------------------------------------


def made_vectors(count, seed=1):
    rng = np.random.default_rng(seed)
    strong = rng.normal(size=(count, 24)) @ rng.normal(size=(24, 128))
    return normalised((strong + rng.normal(size=128)).astype(np.float32))


@pytest.mark.parametrize(("count", "is_exact"), [(500, True), (semantic.SIGN_ROWS, False)])
def test_what_is_searched_is_what_a_server_searches_at_that_size(count, is_exact):
    made = made_vectors(count)
    assert semantic.server_index(made).search(made[0], 1, np.arange(1, count + 1))[2] == is_exact


@pytest.mark.parametrize("share", [1.0, 0.1])
def test_both_searches_find_the_true_rows_among_the_allowed_ones(share):
    pytest.importorskip("hnswlib")
    made = made_vectors(2_020)
    rows, questions = made[20:], made[:20]
    allowed = np.random.default_rng(2).random(2_000) < share
    task = semantic.Task.of(rows, questions, allowed)
    for question, truth in zip(questions, task.truth, strict=True):
        similar = np.where(allowed, rows @ question, -1)
        assert truth == set(np.argsort(-similar)[: semantic.LIMIT].tolist())
    raw = semantic.Raw(task, is_filtered=share < 1)
    assert raw.recall >= semantic.LEAST_RECALL
    assert task.recall(raw.search) == raw.recall
    assert allowed[raw.search(questions[0]).astype(np.int64)].all()
    assert task.recall(lambda _: np.flatnonzero(~allowed)) == 0


def test_a_server_without_hnswlib_is_compared_with_nothing(monkeypatch):
    monkeypatch.setattr(semantic, "_has_hnswlib", lambda: False)
    made = made_vectors(60)
    with pytest.raises(Absent, match="hnswlib is not installed"):
        semantic.Raw(
            semantic.Task.of(made[:40], made[40:], np.ones(40, np.bool_)), is_filtered=False
        )


# --- deltas ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("gap_us", [0, 3_000])
async def test_every_delta_of_the_model_comes_through_the_relay_after_it_was_written(gap_us):
    request = context_pb2.StreamChatRequest()
    request.context.question = "hello"
    request.context.model = upstream.model_id(30, gap_us)
    raw = request.SerializeToString()
    with child(upstream.MODULE) as model, child(relay.MODULE, [f"http://{model}/v1"]) as address:
        async with open_channel(address) as channel:
            with pytest.raises(Wrong, match="30 of 31 deltas came"):
                await streams.hear(channel, relay.METHOD, raw, 31)
            asked_s = time.monotonic()  # everybody is connected now
            heard = await streams.hear(channel, relay.METHOD, raw, 30)
    assert list(heard.written_s) == sorted(heard.written_s)
    assert all(a < b for a, b in zip(heard.written_s, heard.heard_s, strict=True))
    assert heard.delay_s > 0
    # Whoever stalls, a delta may be late, but none is written before its time (uvloop's timers count milliseconds).
    for n, written_s in enumerate(heard.written_s, start=1):
        assert written_s > asked_s + n * gap_us / 1e6 - 0.002


def test_what_a_stream_of_deltas_took():
    heard = streams.Heard(written_s=[1.0, 2.0, 3.0], heard_s=[1.5, 2.25, 4.5])
    assert heard.delay_s == 0.5
    assert heard.each_s == 1.5


def test_joined_deltas_are_told_apart():
    assert upstream.stamps(f"{12:20}{345:20}") == [12, 345]


# --- the peers ---------------------------------------------------------------------------------------


async def test_a_peer_that_is_not_installed_is_absent(bench, tmp_path):
    bench.peers = tmp_path / "nowhere"
    with pytest.raises(Absent, match="make peers"):
        await peers.against(bench, "chromadb")


def test_the_stub_gives_everybody_the_same_vectors():
    stub = Stub(["a", "b"], np.array([[1.0, 0.0], [0.0, 1.0]], np.float32))
    assert (stub("a"), stub("b"), stub.dims) == ([1.0, 0.0], [0.0, 1.0], 2)
    assert stub("unknown") == stub("unknown")
    assert stub("unknown") in ([1.0, 0.0], [0.0, 1.0])


class Remembers:
    """A memory of the test's own."""

    def __init__(self, directory, stub):
        self.stub, self.texts, self.asked = stub, [], []

    def fill(self, messages):
        print("a library says something")
        self.texts += [one.text for one in messages]

    def ask(self, question):
        self.asked.append(question)
        return len(self.texts)


def test_a_worker_stores_the_chat_then_answers_rounds(tmp_path, monkeypatch, capsys):
    chat = {
        "messages": [{"id": "1", "user": "u", "text": "hello"}],
        "questions": ["hello?", "hi?"],
        "texts": ["hello", "hello?", "hi?"],
    }
    (tmp_path / "chat.json").write_text(json.dumps(chat))
    np.save(tmp_path / "vectors.npy", np.eye(3, dtype=np.float32))
    monkeypatch.setattr(worker, "MEMORIES", {"own": Remembers})
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"calls": 3, "longest_s": 9}\n'))
    answers = io.StringIO()
    worker.main("own", str(tmp_path), answers)
    filled, asked = map(json.loads, answers.getvalue().splitlines())
    assert filled["found"] == [1, 1]
    assert len(asked["seconds"]) == 3
    assert "a library says something" in capsys.readouterr().out


def test_a_round_ends_with_its_time():
    memory = Remembers(None, None)
    assert worker.ask_round(memory, ["a", "b"], 5, 0.0) == []
    assert len(worker.ask_round(memory, ["a", "b"], 5, 60.0)) == 5
    assert memory.asked == ["a", "b", "a", "b", "a"]


@pytest.mark.parametrize(
    ("event", "arguments"),
    [
        ("socket.connect", (None, ("192.0.2.1", 443))),
        ("socket.getaddrinfo", ("example.org", 443)),
    ],
)
def test_a_worker_reaches_no_other_machine(event, arguments):
    with pytest.raises(PermissionError, match="no network here"):
        worker.stay_here(event, arguments)


def test_a_worker_may_talk_to_its_own_machine():
    worker.stay_here("socket.connect", (None, ("127.0.0.1", 80)))
    worker.stay_here("socket.connect", (None, "/run/unix.socket"))
    worker.stay_here("open", ("example.org",))


@pytest.mark.slow
def test_a_worker_is_told_what_the_server_was_told(tmp_path):
    request = context_pb2.BuildContextRequest(channel="c", question="who said grub?")
    peers.write_chat(tmp_path / "chat", 30, Questions(nobody, [request.SerializeToString()], [1]))
    chat = json.loads((tmp_path / "chat/chat.json").read_text())
    messages = [Said(**one) for one in chat["messages"]]
    assert len(messages) == 30
    assert chat["questions"] == ["who said grub?"]
    assert {one.text for one in messages} | {"who said grub?"} == set(chat["texts"])
    assert np.load(tmp_path / "chat/vectors.npy").shape == (len(chat["texts"]), 512)


# --- what is meant -----------------------------------------------------------------------------------


def answer(source, lost=""):
    built = context_pb2.BuildContextResponse(items=[context_pb2.Item(sources=[source])])
    if lost:
        built.degradations.add(stage="gather", source="semantic", reason=lost)
    return built.SerializeToString()


async def test_questions_with_a_vector_are_those_it_was_used_for(monkeypatch):
    vector = message_pb2.Embedding(embedder_id="e", values=b"1234")
    monkeypatch.setattr(vectors, "embedding_of", lambda _: vector)
    seen = []

    async def call(raw):
        request = context_pb2.BuildContextRequest.FromString(raw)
        seen.append(request.HasField("query_embedding"))
        if len(seen) == 1:  # the embedder is not loaded yet
            return answer(context_pb2.SOURCE_RECENT, "EMBEDDER_LOADING")
        is_far = request.question in far
        return answer(context_pb2.SOURCE_SEMANTIC if is_far else context_pb2.SOURCE_RECENT)

    far = {one.line.content for one in chats.said(12, skip=5)[::3]}
    given, plain = await questions.far_questions(call, "room", 5)
    requests = [context_pb2.BuildContextRequest.FromString(one) for one in given.requests]
    assert {one.question for one in requests} == far
    assert all(one.query_embedding == vector for one in requests)
    without = [context_pb2.BuildContextRequest.FromString(one) for one in plain.requests]
    assert [one.question for one in without] == [one.question for one in requests]
    assert not any(one.HasField("query_embedding") for one in without)


async def test_no_question_by_meaning_is_no_figure(monkeypatch):
    vector = message_pb2.Embedding(embedder_id="e", values=b"1234")
    monkeypatch.setattr(vectors, "embedding_of", lambda _: vector)

    async def call(raw):
        return answer(context_pb2.SOURCE_RECENT)

    with pytest.raises(Wrong, match="answered by meaning"):
        await questions.far_questions(call, "room", 5)
