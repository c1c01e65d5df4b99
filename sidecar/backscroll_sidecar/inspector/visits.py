"""A page that is asked for, where it is made, and what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from backscroll_sidecar.edge.status import Refused
from backscroll_sidecar.inspector.asking import Asked
from backscroll_sidecar.inspector.question_fields import Pairs

P = ParamSpec("P")
T = TypeVar("T")
OWN_FIELDS = frozenset({"format", "fate", "from", "to", "line", "of", "part"})
"""Fields of an address that are the page's, not the question's."""


class Beside:
    """What pages are made in: a thread beside the event loop, for one page at a time.

    Bots' calls do not wait until a page is drawn, and share the processor with one page, however many are open.
    """

    def __init__(self) -> None:
        self._one = asyncio.Lock()

    async def run(self, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Do this work, once it is its turn."""
        async with self._one:
            return await asyncio.to_thread(work, *given, **named)


@dataclass(slots=True)
class Visit:
    """A page that is asked for: its address's fields, who makes its calls, and where it is made.

    `is_part`: the browser wants only what takes the place of a part.
    """

    asked: Asked
    given: Pairs
    beside: Beside
    is_part: bool = False

    def field(self, name: str) -> str:
        """The first value of a field, empty without."""
        return next((value for key, value in self.given if key == name), "")

    @property
    def question_pairs(self) -> Pairs:
        """The fields that are the question's."""
        return [(name, value) for name, value in self.given if name not in OWN_FIELDS]


@dataclass(slots=True)
class Page:
    """What to show: a template, what stands on it, and a file where one is asked for.

    `refused`: what could not be done, where the page shows that beside what was given.
    """

    template: str
    view: Mapping[str, Any]
    title: str
    channel: str = ""
    file: tuple[str, str, bytes] | None = None
    refused: Refused | None = None


Handler = Callable[[Visit], Awaitable[Page]]
"""Makes a page."""
