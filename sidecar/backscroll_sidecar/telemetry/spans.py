"""What traces tell of a build and of a model call, once it is over. Knows no tracing library. No texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from backscroll_sidecar.domain import Degradation, Rung


class BuildSpan(msgspec.Struct, frozen=True):
    """A build that was answered.

    Attributes
    ----------
    stage_us : microseconds by stage, in their order.
    took_s : of all of them.
    """

    channel: str
    context_id: str
    profile: str
    rung: Rung
    stage_us: Mapping[str, int]
    took_s: float
    message_count: int
    tokens: int
    candidate_count: int
    cache_hit: bool
    degradations: Sequence[Degradation]


class ModelSpan(msgspec.Struct, frozen=True):
    """A call of a model.

    Attributes
    ----------
    api : the payload format of the vendor's interface.
    took_s, first_s : until its end, until its first event; None: there was none.
    prompt_tokens, completion_tokens : by the vendor's count.
    finish_reason : the vendor's own word; empty: it said none.
    error : what went wrong, in one word; empty: nothing.
    """

    channel: str
    model: str
    api: str
    took_s: float
    first_s: float | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str = ""
    error: str = ""


class Spans(Protocol):
    """Takes them, at once and without waiting; what a build or a call is told by belongs to the running call."""

    def called(self, metadata: Iterable[tuple[str, str | bytes]]) -> None:
        """A call begins, with this beside its request: its caller's trace, if there is one, is gone on with."""

    def built(self, span: BuildSpan) -> None:
        """A build is over."""

    def build_failed(self, channel: str, reason: str, took_s: float) -> None:
        """A build gave no context."""

    def model_called(self, span: ModelSpan) -> None:
        """A model call is over."""

    async def close(self) -> None:
        """Send what is left, for a bounded time. Idempotent."""
