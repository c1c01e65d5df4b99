"""Calls the server makes of itself before it says SERVING: all kinds of them, seen by nobody, and never in the way."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.context.profiles import PROFILES
from backscroll_sidecar.edge import self_warmup
from backscroll_sidecar.wiring import App, open_app

pytestmark = pytest.mark.usefixtures("quiet_logs")


@pytest.fixture
async def app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[App]:
    """An app in a process that has called nothing of its own."""
    monkeypatch.setattr(self_warmup, "_is_warm", False)
    async with open_app(Settings(database=tmp_path / "b.db", embedder="none")) as opened:
        yield opened


class Heard:
    """A builder that notes what it is asked for."""

    def __init__(self, app: App, error: Exception | None = None, *, hangs: bool = False) -> None:
        self._builder, self._error, self._hangs = app.builder, error, hangs
        self.hanging = asyncio.Event()
        self.profiles: list[str] = []

    async def build(self, request):
        if self._error is not None:
            raise self._error
        if self._hangs:
            self.hanging.set()
            await asyncio.Event().wait()
        self.profiles.append(request.profile)
        return await self._builder.build(request)


async def test_every_profile_is_asked_for_and_the_default_until_it_is_quick(app: App) -> None:
    heard = Heard(app)
    await self_warmup.warm_up(
        app.history, app.preferences, heard, app.chat, app.summaries, app.periods, PROFILES
    )
    asked = {profile: heard.profiles.count(profile) for profile in heard.profiles}
    usual = asked.pop("")
    assert asked == dict.fromkeys(PROFILES, 2)
    assert usual == self_warmup.TIMES * len(self_warmup.QUESTIONS)
    assert app.builder.build_count == sum(asked.values()) + usual + 1  # the last one by StreamChat


async def test_a_process_warms_up_once(app: App) -> None:
    for _ in range(2):
        await self_warmup.warm_up(
            app.history, app.preferences, app.builder, app.chat, app.summaries, app.periods, ()
        )
    assert app.builder.build_count == self_warmup.TIMES * len(self_warmup.QUESTIONS) + 1


@pytest.mark.row("S5-33")
async def test_the_servers_own_app_hears_nothing_of_it(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    """S5-33: what is counted are calls of somebody's."""
    with caplog.at_level(logging.INFO):
        await app.warm_up()
    assert "warmed up by own calls" in caplog.text
    assert app.builder.build_count == 0
    assert not app.numbers.builds.tallies.since_start()
    assert sum((await app.store.stats()).row_counts.values()) == len(app.channels) == 0


@pytest.mark.parametrize("error", [RuntimeError("nothing works"), MemoryError()])
async def test_a_warm_up_that_fails_is_told_and_nothing_else(
    app: App, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """Law 5: the first calls take longer, that is all."""
    with caplog.at_level(logging.WARNING):
        await self_warmup.warm_up(
            app.history,
            app.preferences,
            Heard(app, error),
            app.chat,
            app.summaries,
            app.periods,
            PROFILES,
        )
    assert "the first calls take longer" in caplog.text


async def test_a_proxy_of_the_web_is_not_asked(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call stays on this machine, whatever the environment says of proxies."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    for name in ("no_proxy", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    await self_warmup.warm_up(
        app.history, app.preferences, app.builder, app.chat, app.summaries, app.periods, ()
    )
    assert app.builder.build_count > self_warmup.TIMES


async def test_what_the_operator_says_of_prompts_takes_no_part(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A prompt that leaves no room for a question is in nobody's way, and no other process is shown it."""
    monkeypatch.setattr(self_warmup, "_is_warm", False)
    settings = Settings(database=":memory:", embedder="none", system_text="word " * 20_000)
    async with open_app(settings) as opened:
        with caplog.at_level(logging.INFO):
            await opened.warm_up()
    assert "warmed up by own calls" in caplog.text
    assert "not warmed up" not in caplog.text


async def test_one_that_takes_too_long_ends(
    app: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody waits for it long, whatever holds it up; and who stops the server meanwhile does not wait at all."""
    heard = Heard(app, hangs=True)
    stopped = asyncio.create_task(
        self_warmup.warm_up(
            app.history, app.preferences, heard, app.chat, app.summaries, app.periods, PROFILES
        )
    )
    await asyncio.wait_for(heard.hanging.wait(), 60)
    stopped.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopped
    monkeypatch.setattr(self_warmup, "_is_warm", False)
    monkeypatch.setattr(self_warmup, "PATIENCE_S", 0.05)
    with caplog.at_level(logging.WARNING):
        await self_warmup.warm_up(
            app.history, app.preferences, heard, app.chat, app.summaries, app.periods, PROFILES
        )
    assert "TimeoutError" in caplog.text


async def test_where_no_port_can_be_had_nothing_is_lost(
    app: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(self_warmup, "ADDRESS", "127.0.0.1:1x")
    with caplog.at_level(logging.WARNING):
        await self_warmup.warm_up(
            app.history,
            app.preferences,
            app.builder,
            app.chat,
            app.summaries,
            app.periods,
            PROFILES,
        )
    assert "the first calls take longer" in caplog.text
    assert app.builder.build_count == 0
