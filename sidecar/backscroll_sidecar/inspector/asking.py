"""The calls that a page is made of, as anybody may make them: each is kept, so that the page can show it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from google.protobuf import json_format
from google.protobuf.message import Message

from backscroll_sidecar.edge.call_pipeline import Caller

PACKAGE = "backscroll.v1."
MessageT = TypeVar("MessageT", bound=Message)


class Calls(Protocol):
    """Makes calls of the contract, each through the pipeline that every call goes through."""

    async def call(self, method: str, request: Message, caller: Caller) -> Message:
        """Answer ``backscroll.v1.Service/Method``. Raises `Refused`."""


@dataclass(frozen=True, slots=True)
class Browser:
    """Who asks by a page: the token that was given at the login, or nobody.

    `time_left_s` bounds each call: nobody looks at a page that takes longer. `only_looks`: contexts that are built for
    a page are recorded and counted nowhere.
    """

    token: str = ""
    time_left_s: float | None = 60.0
    only_looks: bool = True

    @property
    def metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        """The credential, as a bot sends it."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()


@dataclass(frozen=True, slots=True)
class Made:
    """One call that was made: its name without the package, and its request."""

    method: str
    request: Message

    @property
    def body(self) -> dict[str, Any]:
        """The request as JSON."""
        return json_format.MessageToDict(self.request, preserving_proto_field_name=True)


@dataclass(slots=True)
class Asked:
    """Makes the calls of one page and keeps them in order."""

    calls: Calls
    browser: Browser
    made: list[Made] = field(default_factory=list)

    async def ask(self, method: str, request: Message, kind: type[MessageT]) -> MessageT:
        """Call ``Service/Method``; its answer is of `kind`. Raises `Refused`."""
        self.made.append(Made(method, request))
        answer = await self.calls.call(PACKAGE + method, request, self.browser)
        if not isinstance(answer, kind):
            raise TypeError(f"{method} gave another kind of answer")
        return answer
