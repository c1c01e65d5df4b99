"""`backscroll serve`: how it starts, with what, and how it stops."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from backscroll_sidecar.concurrency.threads import CORES
from tests.integration.cli.conftest import CHANNEL, CHAT

pytestmark = pytest.mark.slow

SERVE = ("serve", "--listen", "127.0.0.1:0")
S5_ENV = """\
MEMORY_ENABLE_INTELLIGENT_MEMORY=true
MEMORY_MAX_CONTEXT_MESSAGES=20
MEMORY_RELEVANCE_THRESHOLD=0.3
MEMORY_REPLY_CHAIN_WEIGHT=0.4
MEMORY_CONTEXT_BUILD_TIMEOUT_SECONDS=5
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_says_where_it_serves_and_stops_on_a_signal(started, number):
    shell = started
    with shell.serving("--log-format", "json") as process:
        assert process.ready["event"] == "serving"
        assert process.ready["pid"] == process.popen.pid
        assert process.ready["start_seconds"] > 0
        assert process.address.startswith("127.0.0.1:")
        assert not process.address.endswith(":0")
        assert shell.json("call", "Check", "--server", process.address) == {"status": "SERVING"}
        assert process.stop(number) == 0
    events = [json.loads(line)["event"] for line in process.log.read_text().splitlines()]
    assert "started" in events
    assert events[-2:] == ["stopping", "stopped"]


def test_says_so_in_words_without_json(shell):
    with shell.start(*SERVE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as popen:
        line = popen.stdout.readline()
        popen.terminate()
    assert line.startswith("Backscroll serves on 127.0.0.1:")


@pytest.mark.sqlite("threads that read the file are looked at")
@pytest.mark.skipif(len(CORES) < 2, reason="there is no core to choose")
def test_only_the_event_loop_keeps_to_its_core(shell):
    core = max(CORES)
    with shell.serving(BACKSCROLL_EVENT_LOOP_CORE=str(core)) as process:
        shell.json("import", str(CHAT), "--server", process.address)
        shell.json("context", CHANNEL, "who has a link?", "--server", process.address)
        tasks = Path(f"/proc/{process.popen.pid}/task")
        kept_to = {int(one.name): os.sched_getaffinity(int(one.name)) for one in tasks.iterdir()}
    assert kept_to.pop(process.popen.pid) == {core}
    assert len(kept_to) >= 3
    assert all(cores == CORES for cores in kept_to.values())


def test_what_was_stored_is_there_after_a_restart(shell):
    with shell.serving() as process:
        shell.json("import", str(CHAT), "--server", process.address)
    with shell.serving() as process:
        again = shell.json("import", str(CHAT), "--server", process.address)
    assert (again["stored"], again["duplicate"]) == (0, 400)


@pytest.mark.sqlite("a file has one server")
def test_one_database_has_one_server(shell):
    with shell.serving():
        second = shell.run(*SERVE)
    assert second.returncode == 1
    assert "in use by another server" in second.stderr


def test_a_taken_port_says_what_to_do_and_grpc_says_nothing(shell):
    with shell.serving() as process:
        second = shell.run("serve", "--listen", process.address, "--database", ":memory:")
    assert second.returncode == 2
    assert second.stderr.startswith(f"error: {process.address} is taken")
    assert "--listen 127.0.0.1:0" in second.stderr


@pytest.mark.row("S5-28")
def test_a_model_that_can_never_be_called_is_a_warning_and_an_echo_answers(shell):
    """S5-28: serve starts with a wrong value; what was meant for that model goes to no other."""
    (shell.directory / "backscroll.toml").write_text(
        'model_base_url = "foo"\nmodel_api_key = "sk-secret"\n'
    )
    with shell.serving("--database", ":memory:") as process:
        said = process.log.read_text()
        answer = shell.json("chat", "c", "--once", "anyone?", "--server", process.address)
    assert "there is no model, an echo answers: the model's base URL must begin with" in said
    assert "sk-secret" not in said
    assert "anyone?" in answer["text"]


def first_lines(shell, count: int, **environment: str) -> list[dict]:
    """What the log of a server says first."""
    with shell.start(
        *SERVE, "--log-format", "json", environment=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as popen:  # fmt: skip
        said = [json.loads(popen.stderr.readline()) for _ in range(count)]
        popen.terminate()
    return said


def test_the_first_start_says_that_it_compiles(shell):
    """With kernels there already nothing is said."""
    said, then = first_lines(shell, 2, NUMBA_CACHE_DIR=str(shell.directory / "new"))
    assert said["event"].startswith("compiling kernels")
    assert then["event"] == f"compiling kernel 10 of {said['kernels']}"
    assert said["directory"] == str(shell.directory / "new")
    with shell.serving() as process:
        assert "compiling" not in process.log.read_text()


def cache_without(shell, kernels, name):
    """The compiled kernels but these, in a directory of their own."""
    cache = shutil.copytree(kernels, shell.directory / "before")
    for index in cache.rglob(name):
        index.unlink()
    return cache


def test_a_start_after_an_upgrade_says_that_it_compiles(shell, kernels):
    """One kernel is another than the one in the cache."""
    cache = cache_without(shell, kernels, "kernels_score.reply_path-*.nbi")
    with shell.serving(NUMBA_CACHE_DIR=str(cache)) as process:
        assert process.log.read_text().count("compiling kernels") == 1
    with shell.serving(NUMBA_CACHE_DIR=str(cache)) as process:
        assert "compiling" not in process.log.read_text()


def test_a_terminal_shows_how_many_kernels_are_compiled(shell, kernels):
    """The bar ends with as many kernels as its total said, which is counted before."""
    cache = cache_without(shell, kernels, "kernels_score.reply_path-*.nbi")
    ours, theirs = os.openpty()
    environment = {"NUMBA_CACHE_DIR": str(cache)}
    with shell.start(
        *SERVE, stdout=subprocess.PIPE, stderr=theirs, environment=environment
    ) as popen:
        os.close(theirs)
        assert popen.stdout.readline().startswith("Backscroll serves on")
        shown = os.read(ours, 2**16).decode()
        popen.terminate()
        popen.wait(60)
    os.close(ours)
    counts = re.findall(r"compiling kernels \[[#.]+\] +(\d+) of (\d+)", shown)
    assert counts, shown
    assert counts[-1][0] == counts[-1][1]


def test_two_servers_that_compile_at_once_leave_a_whole_cache(shell, kernels):
    cache = cache_without(shell, kernels, "kernels_selection.*.nb[ic]")
    with ThreadPoolExecutor(2) as both:

        def start(_):
            with shell.serving("--database", ":memory:", NUMBA_CACHE_DIR=str(cache)) as process:
                return process.log.read_text()

        assert all("compiling kernels" in said for said in both.map(start, range(2)))
    with shell.serving(NUMBA_CACHE_DIR=str(cache)) as process:
        assert "compiling" not in process.log.read_text()


def test_where_the_users_cache_cannot_be_used_is_said(shell):
    (shell.directory / "file").write_text("")
    unusable = str(shell.directory / "file")
    (said,) = first_lines(shell, 1, NUMBA_CACHE_DIR="", XDG_CACHE_HOME=unusable)
    assert said["event"].startswith("compiled kernels are kept in the state directory")
    assert said["directory"].startswith(str(shell.directory / "state" / "kernels"))


@pytest.mark.sqlite("a new file is said")
def test_a_new_database_is_said_with_its_place(shell):
    path = shell.directory / "not" / "yet" / "x.db"
    made = []
    for _ in range(2):
        with shell.serving("--database", str(path), "--log-format", "json") as process:
            lines = [json.loads(line) for line in process.log.read_text().splitlines()]
        made.append([one["database"] for one in lines if "new" in one["event"]])
    assert made == [[str(path)], []]


def test_a_file_that_is_no_database_is_named(shell):
    (shell.directory / "nota.db").write_text("no database at all " * 99)
    done = shell.run(*SERVE, "--database", "nota.db")
    assert done.returncode == 1
    assert "nota.db: the file is no database" in done.stderr


@pytest.mark.parametrize("seconds", [0.0, 0.3, 1.5])
def test_an_interrupt_while_it_starts_ends_it_quietly(shell, seconds):
    """Kernels are compiled meanwhile, where an exception of ours could get lost."""
    kernels = shell.directory / "new"
    with shell.start(
        *SERVE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        environment={"NUMBA_CACHE_DIR": str(kernels)},
    ) as popen:  # fmt: skip
        try:
            while not kernels.exists() and popen.poll() is None:
                time.sleep(0.01)
            time.sleep(seconds)
            popen.send_signal(signal.SIGINT)
            _, said = popen.communicate(timeout=300)
        finally:
            popen.kill()
    assert popen.returncode in {0, 130, -signal.SIGINT}, said
    assert "Error" not in said
    assert "Traceback" not in said


def test_serves_on_a_unix_socket(shell):
    address = f"unix:{shell.directory}/b.sock"
    with shell.serving(listen=address) as process:
        assert process.address == address
        assert shell.json("call", "Check", "--server", address) == {"status": "SERVING"}


def test_a_server_can_forget(shell):
    with shell.serving("--database", ":memory:") as process:
        shell.json("import", str(CHAT), "--server", process.address)
    assert not list(shell.directory.rglob("*.db"))


@pytest.mark.row("P-28")
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--listen", "0.0.0.0:0"], "tls_cert"),
        (["--listen", "[::]:0"], "tls_cert"),
        (["--listen", "127.0.0.1:0", "--listen", "0.0.0.0:0"], "tls_cert"),
        (["--listen", "127.0.0.1:0", "--tokens-file", "none.toml"], "none.toml"),
        (["--listen", "127.0.0.1:0", "--tls-cert", "none.pem"], "none.pem"),
        (["--listen", "nonsense"], "host:port"),
        (["--listen", "127.0.0.1:99999"], "over 65,535"),
        (["--listen", "0.0.0.0:0"], "tokens_file"),
        (["--profile", "best"], "balanced"),
    ],
)
def test_refuses_an_unsafe_or_impossible_start(shell, options, says):
    """P-28: through the command, an address that the network can reach needs TLS and a credential."""
    done = shell.run("serve", *options)
    assert done.returncode == 2
    assert done.stdout == ""
    assert says in done.stderr
    assert not list(shell.directory.rglob("*.db")), "made for nothing"


@pytest.mark.row("P-28")
def test_a_tokens_file_that_is_none_refuses(shell):
    """P-28: a broken credential is no open door."""
    (shell.directory / "tokens.toml").write_text("nonsense = 1\n")
    done = shell.run(*SERVE, "--tokens-file", "tokens.toml")
    assert done.returncode == 2
    assert "tokens" in done.stderr


@pytest.mark.row("P-28")
def test_callers_need_the_token_that_was_set(shell):
    """P-28: with tokens nobody calls without one, and each belongs to its tenant."""
    (shell.directory / "tokens.toml").write_text('[tokens]\n"secret-a" = "a"\n"secret-b" = "b"\n')
    with shell.serving("--tokens-file", "tokens.toml") as process:
        shell.environment["BACKSCROLL_SERVER"] = process.address
        refused = shell.run("import", str(CHAT))
        assert refused.returncode == 1
        assert "BACKSCROLL_TOKEN" in refused.stderr
        assert shell.json("import", str(CHAT), "--token", "secret-a")["stored"] == 400
        mine = shell.json("context", CHANNEL, "hello?", BACKSCROLL_TOKEN="secret-a")
        theirs = shell.json("context", CHANNEL, "hello?", BACKSCROLL_TOKEN="secret-b")
        assert mine["channel_known"]
        assert "channel_known" not in theirs
        methods = shell.json("call", "--list", "--token", "secret-a")
        assert "backscroll.v1.ContextService/BuildContext" in methods


@pytest.mark.row("S5-28")
def test_a_wrong_value_starts_with_the_default_and_a_warning(shell):
    """S5-28."""
    with shell.serving(MEMORY_TIME_WINDOW_HOURS="soon", MEMORY_REPLY_CHAIN_WEIGTH="1") as process:
        assert process.ready["event"] == "serving"
    log = process.log.read_text()
    assert "MEMORY_TIME_WINDOW_HOURS" in log
    assert "using the default, 24" in log
    assert "did you mean MEMORY_REPLY_CHAIN_WEIGHT?" in log


@pytest.mark.row("S5-27")
def test_an_env_file_of_s5_is_taken_as_it_is(shell):
    """S5-27: it is read from the working directory; what the default profile ignores is said at start."""
    (shell.directory / ".env").write_text(S5_ENV)
    with shell.serving() as process:
        assert process.ready["event"] == "serving"
    log = process.log.read_text()
    assert "MEMORY_RELEVANCE_THRESHOLD" in log
    assert "'classic' only" in log
    assert "MEMORY_MAX_CONTEXT_MESSAGES" not in log


@pytest.mark.row("S2-23")
def test_an_own_strategy_joins_and_a_broken_one_costs_only_itself(shell):
    """S2-23: named in the settings, it proposes messages like a built-in one."""
    (shell.directory / "mine.py").write_text(
        "from backscroll_sidecar.domain import Category\n"
        "from backscroll_sidecar.strategies import Messages\n"
        "class Oldest:\n"
        "    name = 'oldest'\n"
        "    def gather(self, query):\n"
        "        return Messages(Category.RECENT, range(min(2, query.end)))\n"
    )
    settings = {
        "BACKSCROLL_STRATEGIES": "mine:Oldest,mine:Nothing",
        "PYTHONPATH": str(shell.directory),
    }
    with shell.serving(**settings) as process:
        shell.environment["BACKSCROLL_SERVER"] = process.address
        shell.json("import", str(CHAT))
        built = shell.json("context", CHANNEL, "anybody?")
    assert "mine:Nothing" in process.log.read_text()
    named = [
        one for one in built["explanation"]["candidates"] if "oldest" in one.get("own_sources", ())
    ]
    assert len(named) == 2


@pytest.mark.row("S3-18")
@pytest.mark.parametrize("where", ["environment", ".env", "file"])
def test_the_names_of_s3_define_naive(shell, where):
    """S3-18: both names take effect, more messages than by default and shorter ones."""
    names, arguments = {"TG_HISTORY_WINDOW": "15", "MAX_CHARS_PER_MESSAGE": "20"}, []
    if where == ".env":
        (shell.directory / where).write_text("".join(f"{k}={v}\n" for k, v in names.items()))
    elif where == "file":
        file = shell.directory / "own.toml"
        file.write_text("tg_history_window = 15\nmax_chars_per_message = 20\n")
        arguments = ["--config", str(file)]
    with shell.serving(*arguments, **(names if where == "environment" else {})) as process:
        shell.environment["BACKSCROLL_SERVER"] = process.address
        shell.json("import", str(CHAT))
        built = shell.json("context", CHANNEL, "hello?", "--profile", "naive")
    *history, question = built["payloads"][0]["body"]["messages"]
    assert len(history) == 15
    said = [one["content"].partition(">: ")[2] for one in history]
    assert max(map(len, said)) == 20
    assert any(text.endswith("…") for text in said)
    assert question["content"].endswith("hello?")


@pytest.mark.row("S5-52")
def test_logs_hold_no_text_of_a_message(shell):
    """S5-52: builds are logged with their path and the number of messages, texts never."""
    line = {
        "id": "1",
        "channel": "c",
        "author": "u",
        "text": "Xylophon-Geheimnis",
        "timestamp": 1_700_000_000_000,
    }
    with shell.serving("--log-level", "debug") as process:
        shell.environment["BACKSCROLL_SERVER"] = process.address
        shell.json("import", "-", stdin=json.dumps(line))
        shell.json("context", "c", "Kolibri-Frage?")
    log = process.log.read_text()
    built = [text for text in log.splitlines() if "context built" in text and "balanced" in text]
    assert built
    assert "messages=1" in built[-1]
    assert "RANKED" in built[-1]
    assert "Xylophon" not in log
    assert "Kolibri" not in log
