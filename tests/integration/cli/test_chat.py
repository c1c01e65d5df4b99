"""`backscroll chat` and the example bot against a server with the demo chat, which has no key and so an echo."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response

from backscroll_sidecar.cli.model_words import ADVICE, ECHO
from backscroll_sidecar.ports import ModelFault
from backscroll_sidecar.texts import ENGLISH, EVERY
from tests.integration.cli.conftest import CHANNEL, COMMAND

pytestmark = pytest.mark.slow

QUESTION = "what does [tab][tab] mean?"
ROOT = Path(__file__).parents[3]
BOT = ROOT / "examples/telegram_like_bot.py"


@pytest.mark.row("P-18")
def test_once_streams_the_answer_and_says_what_it_saw(chat):
    """P-18: everything works without a key, and the answer says that it is none."""
    done = chat.run("chat", CHANNEL, "--once", QUESTION, "--asker", "azriel")
    assert done.returncode == 0
    assert done.stdout.startswith(ENGLISH.echo_notice)
    assert QUESTION in done.stdout
    assert "new channel" not in done.stderr
    first, *rest = done.stderr.splitlines()
    shown = re.match(r"context: (\d+) messages · [\d,]+ of 4,096 tokens · ranked", first)
    assert shown
    assert int(shown[1]) >= 20  # the best 20, and what is worth its tokens behind them
    assert "BACKSCROLL_MODEL_API_KEY" in " ".join(rest)


def test_a_new_channel_is_told_with_those_that_may_be_meant(chat):
    mistyped = CHANNEL.replace("irc", "irk")
    done = chat.run("chat", mistyped, "--once", QUESTION)
    assert done.returncode == 0
    assert f"{mistyped} is a new channel" in done.stderr
    assert f"did you mean {CHANNEL}?" in done.stderr
    assert "new channel" not in chat.run("chat", mistyped, "--once", QUESTION).stderr


def test_a_model_that_can_never_be_called_is_not_said_to_be_missing(shell):
    with shell.serving(BACKSCROLL_MODEL_BASE_URL="127.0.0.1:18080/v1") as process:
        done = shell.run("chat", "room", "--once", "hi there", "--server", process.address)
    assert done.stdout.startswith(ENGLISH.refused_model_notice)
    assert "check-config" in done.stderr


def test_the_echo_is_known_by_its_words():
    said = [notice for one in EVERY for notice in (one.echo_notice, one.refused_model_notice)]
    assert all(notice.startswith(ECHO) for notice in said)


def test_there_is_advice_for_every_fault_of_a_model():
    assert ADVICE.keys() == {fault.value for fault in ModelFault}


def test_json_has_text_context_and_end(chat):
    answer = chat.json(
        "chat", CHANNEL, "--once", QUESTION, "--self-id", "bot", "--profile", "naive"
    )
    assert answer["question"] == QUESTION
    assert QUESTION in answer["text"]
    assert (answer["echo"], answer["error"], answer["interrupted"]) == (True, None, False)
    assert answer["end"]["reason"] == "END_REASON_COMPLETE"
    assert answer["context"]["profile"] == "naive"


def test_lines_are_questions_and_what_was_said_is_stored(chat):
    lines = "what is a cat?\n\nand a dog?\n"
    done = chat.run("chat", "two-lines", "--json", "--asker", "u7", "--self-id", "b", stdin=lines)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["question"] for one in answers] == ["what is a cat?", "and a dog?"]
    texts = [one["message"]["parts"][0]["text"]["text"] for one in answers[1]["context"]["items"]]
    assert texts == ["what is a cat?", answers[0]["text"]]
    authors = [one["message"]["author"]["id"] for one in answers[1]["context"]["items"]]
    assert authors == ["u7", "b"]


def test_a_blank_question_is_a_wrong_call(chat):
    done = chat.run("chat", CHANNEL, "--once", " ")
    assert (done.returncode, done.stdout) == (2, "")
    assert "give --once a text" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--once", "hi", "--profile", "best"], "profile"),
        (["--once", "hi", "--server", "127.0.0.1:9"], "backscroll serve"),
        (["--server", "127.0.0.1:9"], "backscroll serve"),
    ],
)
def test_errors_say_what_to_do(chat, arguments, says):
    done = chat.run("chat", CHANNEL, *arguments)
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_question_does_not_end_the_chat(chat):
    done = chat.run("chat", "wrong", "--json", stdin=f"{'x' * 70_000}\nand now?\n")
    assert done.returncode == 1
    assert [json.loads(line)["question"] for line in done.stdout.splitlines()] == ["and now?"]
    assert "TOO_LARGE" in json.loads(done.stderr)["error"]


# --- with a model ---------------------------------------------------------------------------------


def chunk(**delta):
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta}]})}\n\n"


def endless(_):
    def body():
        for _ in range(3_000):
            yield chunk(content="na ").encode()
            time.sleep(0.01)

    return Response(body(), content_type="text/event-stream")


@contextmanager
def with_model(shell, answer):
    """A server whose model answers like this."""
    with HTTPServer(threaded=True) as model:
        model.expect_request("/v1/chat/completions").respond_with_handler(answer)
        with shell.serving(BACKSCROLL_MODEL_BASE_URL=model.url_for("/v1")) as process:
            shell.environment["BACKSCROLL_SERVER"] = process.address
            yield model


def test_what_a_model_does_wrong_is_said_with_advice(shell):
    with with_model(shell, lambda _: Response("{}", 401)):
        done = shell.run("chat", "room", "--once", "hi")
        both = shell.run("chat", "room", "--once", "hi", "--json")
    assert done.returncode == both.returncode == 1
    assert "refused the server's credentials [unauthorized]" in " ".join(done.stderr.split())
    assert "BACKSCROLL_MODEL_API_KEY" in done.stderr
    assert json.loads(both.stdout)["error"]["reason"] == "unauthorized"
    assert json.loads(both.stdout)["end"]["reason"] == "END_REASON_UPSTREAM_ERROR"


def test_how_long_to_wait_is_said(shell):
    busy = Response("{}", 429, {"retry-after": "7"})
    with with_model(shell, lambda _: busy):
        done = shell.run("chat", "room", "--once", "hi")
        both = shell.run("chat", "room", "--once", "hi", "--json")
    assert "asks to wait 7 s" in " ".join(done.stderr.split())
    assert json.loads(both.stdout)["error"]["retry_after_ms"] == 7_000


def test_a_silent_model_is_no_matter_of_our_own_timeout(shell):
    def silent(_):
        time.sleep(1.5)
        return Response("{}", 500)

    shell.environment["BACKSCROLL_MODEL_IDLE_SECONDS"] = "0.3"
    with with_model(shell, silent):
        done = shell.run("chat", "room", "--once", "hi")
    assert (done.returncode, "[timeout]" in done.stderr) == (1, True)
    assert "BACKSCROLL_MODEL_IDLE_SECONDS" in done.stderr
    assert "--timeout" not in done.stderr


def test_ctrl_c_prints_what_was_answered_as_json(shell):
    """Exit code 130, and the line is marked: nobody takes half an answer for a whole one."""
    asked = threading.Event()

    def answer(request):
        asked.set()
        return endless(request)

    with with_model(shell, answer):
        process = shell.start(
            "chat", "room", "--once", "sing", "--json",
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert asked.wait(300)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    (line,) = said.splitlines()
    heard = json.loads(line)
    assert (heard["interrupted"], heard["end"]) == (True, None)
    assert heard["text"].startswith("na na")


def test_no_text_moves_the_cursor(shell):
    said = [chunk(content="\x1b[2Jhi 👩\u200d🚀"), chunk(content="!\n")]
    stop = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    body = "".join([*said, f"data: {json.dumps(stop)}\n\n", "data: [DONE]\n\n"])
    with with_model(shell, lambda _: Response(body, content_type="text/event-stream")):
        done = shell.run("chat", "room", "--once", "hi")
    assert (done.returncode, done.stdout) == (0, "\ufffd[2Jhi 👩\u200d🚀!\n\n")


def test_no_time_left(shell):
    with with_model(shell, endless):
        done = shell.run("chat", "room", "--once", "hi", "--timeout", "2")
    assert done.returncode == 1
    assert "--timeout" in done.stderr or "DEADLINE" in done.stderr


class Terminal:
    """The command in a terminal of its own."""

    def __init__(self, shell, *arguments):
        self.ours, theirs = pty.openpty()
        self.said = ""
        self.process = subprocess.Popen(
            [*COMMAND, *arguments], stdin=theirs, stdout=theirs, stderr=theirs,
            cwd=shell.directory, env=shell.variables({"TERM": "dumb"}), start_new_session=True,
        )  # fmt: skip
        os.close(theirs)

    def type(self, text):
        os.write(self.ours, text.encode())

    def wait_for(self, words, timeout_s=300.0):
        end_s = time.monotonic() + timeout_s
        while words not in self.said:
            ready, _, _ = select.select([self.ours], [], [], 0.2)
            try:
                self.said += os.read(self.ours, 65_536).decode(errors="replace") if ready else ""
            except OSError:
                break
            if time.monotonic() > end_s:
                break
        assert words in self.said, self.said
        self.said = self.said.partition(words)[2]

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(120)
        os.close(self.ours)


@pytest.fixture
def terminal(request):
    made = []

    def make(shell, *arguments):
        made.append(Terminal(shell, *arguments))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_in_a_terminal_ctrl_c_ends_the_answer_and_ctrl_d_the_chat(shell, terminal):
    with with_model(shell, endless):
        typed = terminal(shell, "chat", "room")
        typed.wait_for("Ctrl-D the chat")
        for _ in range(2):
            typed.type("sing!\n")
            typed.wait_for("context: ")
            typed.wait_for("na na na")
            typed.process.send_signal(signal.SIGINT)
            typed.wait_for("stopped")
            typed.wait_for("> ")
        time.sleep(0.5)  # the line editor shows its prompt a little before it heeds signals
        typed.process.send_signal(signal.SIGINT)
        typed.wait_for("Ctrl-D ends the chat")
        typed.wait_for("> ")
        typed.type("\x04")
        assert typed.process.wait(120) == 0


# --- the example ----------------------------------------------------------------------------------


def run_bot(shell, address, lines):
    return subprocess.run(
        [sys.executable, str(BOT), address], input=lines, capture_output=True, text=True, timeout=300, check=False,
        env=shell.variables({}),
    )  # fmt: skip


def test_the_example_bot_is_short():
    assert len(BOT.read_text("utf-8").splitlines()) < 100


def test_the_example_bot(shell):
    """It answers where it is named or answered, and everything is stored in order, the replies under the bot's id."""
    lines = [
        "ann: who brings the cake?",
        "ben > 1: I do",
        "not a message",
        "cleo: @cat who brings it?",
        "cleo > 4: thank you",
        "ann > 2: great",
    ]
    with shell.serving() as process:
        done = run_bot(shell, process.address, "\n".join(lines) + "\n")
        shell.environment["BACKSCROLL_SERVER"] = process.address
        listed = shell.json("call", "ListMessages", '{"channel": "living-room"}')["messages"]
    assert (done.returncode, done.stderr) == (0, "")
    assert "@cat who brings it?   [4]" in done.stdout
    assert "thank you   [6]" in done.stdout
    said = [(one["message"]["author"]["id"], one["message"].get("reply", {})) for one in listed]
    assert [author for author, _ in said] == ["ann", "ben", "cleo", "cat", "cleo", "cat", "ann"]
    ids = [one["message"]["id"] for one in listed]
    assert [reply.get("message_id") for _, reply in said] == [
        None, ids[0], None, ids[2], ids[3], ids[4], ids[1],
    ]  # fmt: skip


def test_the_example_bot_tells_of_itself():
    done = subprocess.run(
        [sys.executable, str(BOT), "--help"], capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "backscroll serve" in done.stdout


def test_the_example_bot_does_not_take_half_an_answer_for_a_whole_one(shell):
    """Law 8: an end without an event of its own is shown; a failed answer has an id to be answered by."""
    said = [Response(chunk(content="half"), content_type="text/event-stream")]

    def answer(_):
        return said.pop() if said else Response("{}", 500)

    lines = ["ann: @cat hi", "ben > 2: what?", "ann > 4: hello?"]
    with with_model(shell, answer):
        done = run_bot(shell, shell.environment["BACKSCROLL_SERVER"], "\n".join(lines) + "\n")
        listed = shell.json("call", "ListMessages", '{"channel": "living-room"}')["messages"]
    assert (done.returncode, done.stderr) == (0, "")
    assert "half … (broke off)   [2]" in done.stdout
    assert done.stdout.count("the model's server failed") == 2  # it heeds answers to a failed one
    assert all(one["message"].get("reply", {"message_id": 1})["message_id"] for one in listed)


def test_the_example_bot_outlives_its_server(shell):
    done = run_bot(shell, "127.0.0.1:9", "ann: @cat hi\nann: hi\n")
    assert done.returncode == 0
    assert done.stderr.count("no server answers") == 2
