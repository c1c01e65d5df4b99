"""`backscroll keys`: what it writes, what it prints, and a server that takes it while it runs (P-17)."""

import json
import signal
import stat
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from backscroll import Client, Message
from backscroll.errors import BackscrollError, PermissionDenied, Unauthenticated
from tests.integration.cli.in_process import Commands

pytestmark = pytest.mark.row("P-17")
PATIENCE_S = 30.0


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    monkeypatch.setenv("BACKSCROLL_TOKENS_FILE", str(tmp_path / "tokens.toml"))
    monkeypatch.chdir(tmp_path)
    return Commands("")


def test_a_key_is_printed_once_and_only_its_digest_is_kept(keys: Commands, tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    done = keys.run(
        "keys", "create", "--tenant", "my-bot", "--name", "读者", "--channel", "guild-1/*", "--channel", "support",
        "--right", "read", "--right", "chat", "--expires", "90d",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    key = done.stdout.strip()
    assert key.startswith("bsk_")
    assert len(key) > 40
    assert key not in done.stderr
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text(encoding="utf-8")
    assert key not in text
    (block,) = tomllib.loads(text)["tokens"].items()
    assert block[0] == f"sha256:{sha256(key.encode()).hexdigest()}"
    assert block[1]["channels"] == ["guild-1/*", "support"]
    assert block[1]["rights"] == ["chat", "read"]
    left = block[1]["expires"] - datetime.now(UTC)
    assert 89 < left.total_seconds() / 86_400 <= 90
    listed = keys.run("keys", "list")
    assert "读者" in listed.stdout
    assert key not in listed.stdout
    (one,) = [json.loads(line) for line in keys.run("keys", "list", "--json").stdout.splitlines()]
    assert (one["name"], one["tenant"], one["rights"]) == ("读者", "my-bot", ["read", "chat"])
    told = keys.json("keys", "check", "--token", "-", stdin=f"{key}\n")
    assert told["ok"]
    assert told["channels"] == ["guild-1/*", "support"]
    assert keys.run("keys", "check", "--token", "bsk_other").returncode == 1


def test_what_stood_in_the_file_stays_in_force(keys: Commands, tmp_path: Path) -> None:
    """Comments at its beginning, keys, limits; what was in the clear is a digest now."""
    path = tmp_path / "tokens.toml"
    path.write_text(
        '# ours\n\n[tokens]\n"s3cret" = "a \\"b\\""\n\n[tokens.other]\ntenant = "c"\nrights = ["erase"]\n'
        "expires = 2100-01-01\n",
        encoding="utf-8",
    )
    before = {name: keys.json("keys", "check", "--token", name) for name in ("s3cret", "other")}
    assert "in the clear" in keys.run("keys", "check").stdout
    made = keys.json("keys", "create", "--name", "third")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ours\n\n[tokens]\n")
    assert "s3cret" not in text
    for name, told in before.items():
        assert keys.json("keys", "check", "--token", name) == told
    assert keys.run("keys", "revoke", "third").returncode == 0
    assert keys.run("keys", "revoke", "third").returncode == 1
    assert keys.run("keys", "revoke", before["other"]["id"]).returncode == 0
    assert keys.run("keys", "check", "--token", made["key"]).returncode == 1
    assert keys.run("keys", "check", "--token", "other").returncode == 1
    assert "no key is left" in keys.run("keys", "revoke", before["s3cret"]["id"]).stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--right", "raed"), "raed"),
        (("--expires", "soon"), "soon"),
        (("--expires", "2001-01-01"), "over already"),
        (("--channel", ""), "name"),
        (("--tenant", " "), "name"),
    ],
)
def test_what_makes_no_key(
    keys: Commands, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = keys.run("keys", "create", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "tokens.toml").exists()


@pytest.mark.parametrize(
    "line",
    [
        'chanels = ["a"]',
        "channels = []",
        'rights = ["raed"]',
        "expires = 3",
        "channels = 'a'",
        "name = 3",
    ],
)
def test_a_misspelt_limit_is_refused_and_never_no_limit(
    keys: Commands, tmp_path: Path, line: str
) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text(f'[tokens.abc]\ntenant = "a"\n{line}\n', encoding="utf-8")
    for command in (("keys", "check"), ("keys", "list"), ("keys", "create")):
        done = keys.run(*command)
        assert done.returncode == 1
        assert line.split(maxsplit=1)[0] in done.stderr
    assert keys.run("check-config").returncode == 1
    assert path.read_text(encoding="utf-8").endswith(f"{line}\n")


def test_keys_that_end_soon_are_told_of(keys: Commands, tmp_path: Path) -> None:
    keys.json("keys", "create", "--name", "short", "--expires", "3d")
    path = tmp_path / "tokens.toml"
    path.chmod(0o644)
    for command in (("keys", "check"), ("check-config",), ("doctor",)):
        done = keys.run(*command)
        told = done.stdout + done.stderr
        assert "the key short of default expires at" in told, command
        assert "others may read" in told
    assert keys.run("check-config").returncode == 0
    text = path.read_text(encoding="utf-8")
    at = text.index("expires = ")
    path.write_text(f"{text[:at]}expires = 2001-01-01\n", encoding="utf-8")
    assert "the key short of default expired at 2001-01-01" in keys.run("keys", "check").stdout


def test_many_at_once_lose_no_key(keys: Commands, tmp_path: Path) -> None:
    """Whoever reads meanwhile sees a whole file."""
    arguments = [("keys", "create", "--name", f"k{n}", "--json") for n in range(3)]
    keys.run(*arguments[0])
    with ThreadPoolExecutor(2) as pool:
        from backscroll_sidecar.cli import keys as command

        futures = [
            pool.submit(command.create, name=f"p{n}", file=tmp_path / "tokens.toml")
            for n in range(6)
        ]
        for one in futures:
            one.result()
    names = {
        one["name"]
        for one in tomllib.loads((tmp_path / "tokens.toml").read_text())["tokens"].values()
    }
    assert names == {"k0", *(f"p{n}" for n in range(6))}
    assert not list(tmp_path.glob(".tokens*"))


def test_a_running_server_takes_what_changes(shell, tmp_path: Path) -> None:
    """Made, limited, revoked: within seconds, or at once on SIGHUP; a broken file changes nothing."""
    path = tmp_path / "tokens.toml"
    shell.environment["BACKSCROLL_TOKENS_FILE"] = str(path)
    commands = Commands("")

    def keys(*arguments: str) -> dict:
        return commands.json("keys", *arguments, "--file", str(path))

    whole = keys("create", "--name", "whole")["key"]
    with shell.serving() as process:

        def asked(token: str, channel: str = "guild-1/a") -> str:
            with Client(process.address, token=token) as client:
                try:
                    client.append(channel, Message("m1", "u1", "hello"))
                except BackscrollError as error:
                    return type(error).__name__
            return "taken"

        def comes(token: str, expected: str) -> None:
            ends = time.monotonic() + PATIENCE_S
            while (found := asked(token)) != expected:
                assert time.monotonic() < ends, found
                time.sleep(0.05)

        assert asked(whole) == "taken"
        made = keys("create", "--name", "one", "--channel", "guild-1/*", "--right", "write")
        comes(made["key"], "taken")
        assert asked(made["key"], "guild-2/b") == PermissionDenied.__name__
        good = path.read_text(encoding="utf-8")
        path.write_text("[tokens", encoding="utf-8")
        process.popen.send_signal(signal.SIGHUP)
        while "keys.not_reloaded" not in process.log.read_text():
            time.sleep(0.05)
        assert asked(made["key"]) == "taken"
        path.write_text(good, encoding="utf-8")
        keys("revoke", "one")
        process.popen.send_signal(signal.SIGHUP)
        comes(made["key"], Unauthenticated.__name__)
        assert asked(whole) == "taken"
        keys("revoke", "whole")
        comes(whole, Unauthenticated.__name__)
        assert process.popen.poll() is None
