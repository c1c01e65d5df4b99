"""What a wrong address of PostgreSQL is answered by each command that takes one."""

import json
from pathlib import Path

import pytest

from tests.integration.cli.conftest import InProcess
from tests.kit.postgres import server

pytestmark = pytest.mark.row("P-22")

WRONG = {
    "sslmode=nope": "addresses and options",
    "nope=1": "option of the database's URL",
    "port=1": "cannot be reached: check that it runs",
}


@pytest.mark.parametrize("option", WRONG)
def test_an_url_that_is_wrong_is_told_by_every_command(
    inside: InProcess, tmp_path: Path, option: str
) -> None:
    """With the database it is about; nothing was begun, so nothing is to be gone on with."""
    (tmp_path / "old.db").touch()
    url = server().new_database()
    wrong = f"{url}{'&' if '?' in url else '?'}{option}"
    done = inside.run("migrate", "--from", str(tmp_path / "old.db"), "--to", wrong)
    assert done.returncode == 1
    assert WRONG[option] in done.stderr
    assert url in done.stderr
    assert "run it again" not in done.stderr
    examined = inside.run("doctor", "--json", BACKSCROLL_DATABASE=wrong)
    found = database_of(examined.stdout)
    assert found["status"] == "fail"
    assert WRONG[option] in found["detail"]


def database_of(done_json: str) -> dict[str, str]:
    """What `doctor` said of the database."""
    [found] = [one for one in json.loads(done_json)["checks"] if one["name"] == "database"]
    return found


def test_doctor_tells_who_may_not_make_tables(inside: InProcess) -> None:
    """Since PostgreSQL 15 whoever does not own a database may not, unless it is granted."""
    url = server().new_database()
    asked = inside.run("doctor", "--json", BACKSCROLL_DATABASE=url)
    assert database_of(asked.stdout)["detail"].startswith("empty: the first serve")
    server().psql(url, "CREATE ROLE guest LOGIN")
    guest = url.replace("backscroll@", "guest@")
    asked = inside.run("doctor", "--json", BACKSCROLL_DATABASE=guest)
    said = database_of(asked.stdout)
    assert said["status"] == "fail"
    assert "the owner of the database" in said["detail"]
    (inside.directory / "old.db").touch()
    done = inside.run("migrate", "--from", "old.db", "--to", guest)
    assert f"{guest}: the database's user may" in done.stderr


def test_a_missing_driver_gives_the_line_that_installs_it(
    inside: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backscroll_sidecar.store.opening.find_spec", lambda name: None)
    url = "postgresql://bot@127.0.0.1:1/bot"
    asked = inside.run("doctor", "--json", BACKSCROLL_DATABASE=url)
    assert 'pip install ".[postgres]"' in database_of(asked.stdout)["detail"]
    (inside.directory / "old.db").touch()
    done = inside.run("migrate", "--from", "old.db", "--to", url)
    assert done.returncode == 1
    assert 'pip install ".[postgres]"' in done.stderr


@pytest.mark.parametrize(
    "command", [("backup", "--to", "a.backup", "--database"), ("restore", "a.backup", "--to")]
)
def test_backups_are_of_files(inside: InProcess, command: tuple[str, ...]) -> None:
    done = inside.run(*command, "postgresql://bot:hidden@127.0.0.1:1/bot")
    assert done.returncode == 2
    assert "pg_dump" in done.stderr
    assert "hidden" not in done.stderr
