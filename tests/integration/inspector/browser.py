"""A browser for tests of pages: the system's Chromium, with an empty profile and no calls of its own."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """Where it is."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def missing() -> str:
    """What tests in a browser lack, empty where they have all."""
    if find_spec("playwright") is None:
        return "playwright is not installed"
    return "" if chromium() else "no Chromium is installed"


@contextmanager
def driver() -> Iterator[Any]:
    """Playwright itself, once in a thread."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright


@contextmanager
def browsing(playwright: Any, **options: Any) -> Iterator[Any]:
    """A context of a browser until the block ends; `options` as `launch_persistent_context` takes them."""
    with TemporaryDirectory() as profile:
        given = {"viewport": {"width": 1360, "height": 900}, "locale": "en-US", **options}
        context = playwright.chromium.launch_persistent_context(
            str(Path(profile) / "empty"),
            executable_path=chromium(),
            args=list(ARGUMENTS),
            headless=True,
            **given,
        )
        try:
            yield context
        finally:
            context.close()
