"""`backscroll doctor`, `check-config`, `version`, `demo`, `--help`."""

import json
import os
import re
import subprocess
import sys
import time

import pytest

from backscroll_sidecar.cli.commands import app
from tests.kit.postgres import IN_POSTGRES

pytestmark = pytest.mark.slow

KEY = {"BACKSCROLL_MODEL_API_KEY": "sk-x"}
COMMANDS = [command.name for command in app.registered_commands]


def checks(shell, *arguments: str, **environment: str):
    done = shell.run("doctor", "--json", *arguments, **environment)
    return done.returncode, {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def test_doctor_finds_a_running_server_and_its_database(chat):
    code, found = checks(chat)
    assert code == 0
    assert found["server"]["status"] == "ok"
    assert found["tokens"]["detail"] == "o200k_base, exact"
    assert "400 messages" in found["database"]["detail"]
    if IN_POSTGRES:
        assert found["postgres"]["status"] == found["encoding"]["status"] == "ok"
    else:
        assert "whole" in found["database"]["detail"]
        assert found["lock"]["detail"] == "a server has the database"
        assert found["sqlite"]["status"] == "ok"
    assert "rjieba" in found["chinese"]["detail"]


def test_doctor_without_anything_yet_is_well_and_says_what_to_do(inside):
    code, found = checks(inside, "--server", "127.0.0.1:9")
    assert code == 0
    assert found["server"]["status"] == "warn"
    assert "backscroll serve" in found["server"]["advice"]
    assert "serve makes it" in found["database"]["detail"]
    assert not list(inside.directory.rglob("*.db"))


def test_doctor_fails_on_a_database_that_is_none(inside):
    (inside.directory / "other.db").write_bytes(b"this is no database, whatever it is called" * 40)
    code, found = checks(inside, BACKSCROLL_DATABASE=str(inside.directory / "other.db"))
    assert code == 1
    assert found["database"]["status"] == "fail"
    assert "backup" in found["database"]["advice"]


@pytest.mark.row("P-18")
def test_kernels_belong_to_the_user_not_to_a_state_directory(shell):
    """Two state directories, one cache; where it cannot be used the state directory serves, and it is said."""
    cache = shell.directory / "cache"
    details = set()
    for state in ("one", "two"):
        _, found = checks(
            shell, BACKSCROLL_STATE_DIR=str(shell.directory / state),
            NUMBA_CACHE_DIR="", XDG_CACHE_HOME=str(cache),
        )  # fmt: skip
        assert found["kernels"]["status"] == "ok"
        assert not (shell.directory / state).exists()
        details.add(found["kernels"]["detail"])
    assert len(details) == 1
    detail = details.pop()
    assert re.match(rf"0 of \d+ compiled in {re.escape(str(cache))}/backscroll/kernels/", detail)
    assert "next start compiles" in found["kernels"]["advice"]
    (shell.directory / "file").write_text("")
    code, found = checks(shell, NUMBA_CACHE_DIR="", XDG_CACHE_HOME=str(shell.directory / "file"))
    assert code == 0
    assert found["kernels"]["status"] == "warn"
    assert str(shell.directory / "state" / "kernels") in found["kernels"]["detail"]
    assert "XDG_CACHE_HOME" in found["kernels"]["advice"]


def test_kernels_that_nobody_began_with_for_a_month_are_deleted(shell):
    """Those of other builds, and nothing else that lies there; the time of one's own counts its uses, not its files."""
    cache = shell.directory / "cache"
    environment = {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": str(cache)}
    checks(shell, **environment)
    kernels = cache / "backscroll" / "kernels"
    (own,) = kernels.iterdir()
    month_s, now_s = 30 * 86_400, time.time()
    digest = "0123456789abcdef"
    ages_s = {
        own.name: 2 * month_s,
        f"0.1.0-py311-numba0.65.1-znver3-{digest}": month_s + 3_600,
        f"1.0rc1.dev3+g12-py312-numba0.66.0-skylake-avx512-{digest}": 2 * month_s,
        f"0.1.0-py312-numba0.65.1-znver3-{digest}": month_s - 3_600,
        "notes": 2 * month_s,
        f"0.2.0-py312-numba0.65.1-znver3-{digest}": -month_s,
    }
    mine = shell.directory / "mine"
    mine.mkdir()
    (mine / "file").write_text("x")
    for name, age_s in ages_s.items():
        (kernels / name).mkdir(exist_ok=True)
        (kernels / name / "index.nbi").write_text("x")
        os.utime(kernels / name, (now_s - age_s, now_s - age_s))
    link = kernels / f"0.3.0-py312-numba0.65.1-znver3-{digest}"
    link.symlink_to(mine)
    os.utime(link, (0, 0), follow_symlinks=False)
    for _ in range(2):
        code, found = checks(shell, **environment)
        assert code == 0
        assert str(own) in found["kernels"]["detail"]
    left = {one.name for one in kernels.iterdir()} - {link.name}
    assert left == {own.name, "notes", *(n for n in ages_s if ages_s[n] < month_s)}
    assert (own / "index.nbi").exists()
    assert (mine / "file").exists()
    assert own.stat().st_mtime >= now_s


def test_doctor_fails_where_nothing_can_be_written(shell):
    (shell.directory / "file").write_text("")
    nowhere = str(shell.directory / "file")
    code, found = checks(
        shell, BACKSCROLL_STATE_DIR=nowhere, NUMBA_CACHE_DIR="", XDG_CACHE_HOME=nowhere
    )
    assert code == 1
    assert found["kernels"]["status"] == "fail"


def test_doctor_prints_a_line_a_check(inside):
    done = inside.run("doctor", "--server", "127.0.0.1:9")
    assert done.returncode == 0
    words = [line.split()[0] for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert set(words) <= {"ok", "warn"}
    assert re.search(r"warn +server", done.stdout)


def test_check_config_prints_every_setting_with_its_origin(inside):
    (inside.directory / "backscroll.toml").write_text('default_profile = "classic"\n')
    done = inside.json("check-config", MEMORY_TIME_WINDOW_HOURS="7")
    assert done["ok"]
    settings = done["settings"]
    assert settings["default_profile"] == {
        "value": "classic",
        "origin": "backscroll.toml: default_profile",
    }
    assert settings["memory.time_window_hours"] == {
        "value": 7,
        "origin": "environment: MEMORY_TIME_WINDOW_HOURS",
    }
    assert settings["listen"] == {"value": ["127.0.0.1:7171"], "origin": "default"}
    assert done["problems"] == []


def test_check_config_prints_no_secret(inside):
    secrets = {
        "BACKSCROLL_MODEL_API_KEY": "sk-secret",
        "BACKSCROLL_MODEL_HEADERS": '{"api-key": "sk-secret"}',
        "BACKSCROLL_MODEL_EXTRA_BODY": '{"enable_thinking": false}',
    }
    settings = inside.json("check-config", **secrets)["settings"]
    assert "sk-secret" not in str(settings)
    assert settings["model_api_key"]["value"] == settings["model_headers"]["value"]["api-key"]
    assert settings["model_extra_body"]["value"] == {"enable_thinking": False}
    assert "sk-secret" not in inside.run("check-config", **secrets).stdout


@pytest.mark.row("S5-27", "S5-28")
@pytest.mark.parametrize(
    ("environment", "code", "says"),
    [
        ({"MEMORY_RELEVANCE_THRESHOLD": "2"}, 1, "MEMORY_RELEVANCE_THRESHOLD"),
        ({"BACKSCROLL_DATABSE": "x"}, 1, "BACKSCROLL_DATABASE?"),
        ({"BACKSCROLL_STRATEGIES": "nothing_of:Mine"}, 1, "nothing_of"),
        ({"BACKSCROLL_LISTEN": "0.0.0.0:7171"}, 1, "tls_cert"),
        ({"BACKSCROLL_MODEL_BASE_URL": "127.0.0.1:7491/v1"}, 1, "model_base_url"),
        ({**KEY, "BACKSCROLL_MODEL_HEADERS": '{"bad name": "x"}'}, 1, "headers"),
        ({**KEY, "BACKSCROLL_MODEL_HEADERS": '{"name": "x\\ny"}'}, 1, "headers"),
        ({**KEY, "BACKSCROLL_MODEL_QUERY": '{"name": "\\ud800"}'}, 1, "query"),
        ({"BACKSCROLL_MODEL_API_KEY": "钥匙"}, 1, "printable ASCII"),
        ({"MEMORY_RELEVANCE_THRESHOLD": "0.5"}, 0, "'classic' only"),
        ({"BACKSCROLL_CONFIG": "none.toml"}, 2, "none.toml"),
    ],
)
def test_check_config_fails_on_what_serve_forgives(inside, environment, code, says):
    """S5-28: wrong values and misspelt names; S5-27: what has no effect is a warning."""
    done = inside.run("check-config", **environment)
    assert done.returncode == code
    assert says in done.stderr


def test_version_is_that_of_the_package(inside):
    from importlib.metadata import version

    assert inside.json("version")["backscroll"] == version("backscroll")


@pytest.mark.row("P-18")
def test_the_demo_needs_no_key_and_no_network_and_finds_what_was_meant(shell):
    """P-18: a new server, a real chat, three real questions."""
    keys = dict.fromkeys(("OPENAI_API_KEY", "HTTP_PROXY", "HTTPS_PROXY"), "")
    done = shell.json("demo", MEMORY_RELEVANCE_THRESHOLD="1", BACKSCROLL_TOKENS_FILE="none", **keys)
    assert done["stored"] == 400
    assert [question["found"] for question in done["questions"]] == [True, True, True]
    for question in done["questions"]:
        assert min(question["lines_back"]) > 10
        body = question["context"]["payloads"][0]["body"]
        assert body["messages"][-1]["content"].endswith(question["question"])
        assert question["context"]["tokens"]["total"] <= question["context"]["tokens"]["budget"]
        assert question["context"]["explanation"]["candidates"]


def test_the_demo_shows_tables_and_bodies(shell):
    done = shell.run("demo")
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"found by +why", done.stdout)) == 3
    assert "best 8 messages" in done.stdout
    assert "– was not taken" in done.stdout
    assert done.stdout.count('"model": "gpt-4o-mini"') == 3
    assert "3 of 3 found" in done.stdout
    assert "CC BY 4.0" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_json(inside, command):
    done = inside.run(command, "--help", COLUMNS="200")
    assert done.returncode == 0
    assert f"Example: backscroll {command}" in done.stdout
    assert "--json" in done.stdout
    options = [line for line in done.stdout.splitlines() if line.startswith("  --")]
    assert not [line for line in options if re.match(r"  --\S+ +<(str|list|file|dir)\b", line)]
    if "--profile" in done.stdout:
        assert "chain_recent, retrieval, naive" in " ".join(done.stdout.split())


def test_a_missing_package_gives_the_line_that_installs_it(tmp_path):
    """The command without its extra."""
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError('no typer', name='typer')")
    done = subprocess.run(
        [sys.executable, "-m", "backscroll._cli_entry", "serve"], capture_output=True, text=True,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin"}, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert 'pip install ".[server]"' in done.stderr


def test_the_demo_refuses_an_unknown_profile_before_it_starts_anything(inside):
    done = inside.run("demo", "--profile", "nope")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no profile nope" in done.stderr


def test_version_is_also_an_option(inside):
    assert inside.run("--version").stdout.startswith("backscroll ")


def test_every_command_asks_the_same_server(inside):
    """What `.env` names is asked; without that the address `serve` would take here."""
    for line in ("BACKSCROLL_SERVER=127.0.0.1:9", "BACKSCROLL_LISTEN=127.0.0.1:9"):
        (inside.directory / ".env").write_text(line + "\n")
        for command in (["context", "c", "hi"], ["call", "--list"], ["doctor"]):
            done = inside.run(*command)
            assert "127.0.0.1:9" in done.stdout + done.stderr, command


def test_a_wrong_call_is_a_usage_error(inside):
    assert inside.run("nonsense").returncode == 2
    assert inside.run("serve", "--nonsense").returncode == 2
    assert inside.run("context").returncode == 2
