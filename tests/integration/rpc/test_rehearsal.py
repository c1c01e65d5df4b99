"""Calls the server makes of itself before it says SERVING: all kinds of them, seen by nobody, and never in the way."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import pytest

from backscroll_sidecar.context.profiles import PROFILES
from backscroll_sidecar.rpc import rehearsal
from backscroll_sidecar.settings import Settings
from backscroll_sidecar.wiring import App, open_app

pytestmark = pytest.mark.usefixtures("quiet_logs")


@pytest.fixture
async def app(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[App]:
    """An app in a process that has rehearsed nothing."""
    monkeypatch.setattr(rehearsal, "_rehearsed", False)
    async with open_app(Settings(database=":memory:", embedder="none")) as opened:
        yield opened


class Heard:
    """A builder that notes what it is asked for."""

    def __init__(self, app: App, error: Exception | None = None) -> None:
        self._builder, self._error = app.builder, error
        self.profiles: list[str] = []
        self.joined = 0

    async def answer(self, request, codec):
        if self._error is not None:
            raise self._error
        self.profiles.append(request.profile)
        built = await self._builder.answer(request, codec)
        self.joined += not request.explain and not hasattr(built, "items")
        return built


async def test_every_profile_is_asked_for_and_the_default_until_it_is_quick(app: App) -> None:
    heard = Heard(app)
    await rehearsal.rehearse(app.history, heard, app.chat, PROFILES)
    asked = {profile: heard.profiles.count(profile) for profile in heard.profiles}
    usual = asked.pop("", 0) + asked.pop(None, 0)
    assert asked == dict.fromkeys(PROFILES, 2)
    assert usual == rehearsal.TIMES * len(rehearsal.QUESTIONS)
    assert heard.joined >= rehearsal.TIMES  # by the way that most answers go
    assert app.builder.build_count == sum(asked.values()) + usual + 1  # the last one by StreamChat


async def test_a_process_rehearses_once(app: App) -> None:
    for _ in range(2):
        await rehearsal.rehearse(app.history, app.builder, app.chat, ())
    assert app.builder.build_count == rehearsal.TIMES * len(rehearsal.QUESTIONS) + 1


async def test_the_servers_own_app_hears_nothing_of_it(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    """S5-33: what is counted are calls of somebody's."""
    with caplog.at_level(logging.INFO):
        await app.warm_up()
    assert "rehearsed in" in caplog.text
    assert app.builder.build_count == 0
    assert app.builds.count == 0
    assert len(app.channels) == 0


@pytest.mark.parametrize("error", [RuntimeError("nothing works"), MemoryError()])
async def test_a_rehearsal_that_fails_is_told_and_nothing_else(
    app: App, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """Law 5: the first calls take longer, that is all."""
    with caplog.at_level(logging.WARNING):
        await rehearsal.rehearse(app.history, Heard(app, error), app.chat, PROFILES)
    assert "the first calls take longer" in caplog.text


async def test_a_proxy_of_the_web_is_not_asked(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call stays on this machine, whatever the environment says of proxies."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    await rehearsal.rehearse(app.history, app.builder, app.chat, ())
    assert app.builder.build_count > rehearsal.TIMES


async def test_where_no_port_can_be_had_nothing_is_lost(
    app: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(rehearsal, "ADDRESS", "127.0.0.1:1x")
    with caplog.at_level(logging.WARNING):
        await rehearsal.rehearse(app.history, app.builder, app.chat, PROFILES)
    assert "the first calls take longer" in caplog.text
    assert app.builder.build_count == 0
