"""What other servers wrote to a store that several share, so that caches here are never wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports.changes import Applied
from backscroll_sidecar.ports.losses import Loss

CatchUp = Callable[[str, Iterable[str]], Awaitable[None]]
"""Brings caches up to what is committed of these channels of a tenant, and of the tenant. Raises `StoreUnavailable`."""


async def nothing_to_catch_up(tenant: str, channels: Iterable[str]) -> None:
    """Of a store that is this server's alone."""


class LooksElsewhere(Protocol):
    """Uses channels that the call does not name."""

    def follow(self, catch_up: CatchUp) -> None:
        """Bring caches up to what other servers wrote to a channel before it is used."""


class Missed(NamedTuple):
    """What was committed to a channel since a version, by whomever, and which version it is of now."""

    version: int
    applied: Applied


class Versions(NamedTuple):
    """Of channels that ever held anything, and how many losses their tenant has had.

    If `lineage` is another than before, the store lost commits, and versions mean others now. None: it is not known.
    """

    by_channel: Mapping[str, int]
    loss_count: int
    lineage: int | None = None


class SharedWrites(Protocol):
    """The commits of all servers that share a store. All raise `StoreUnavailable`.

    A channel's version grows with each commit that changes what caches may hold of it. That of `EVERYWHERE` grows with
    each that changes what they hold of a whole tenant: records of `OF_TENANT`, erasures.
    """

    async def versions(self, tenant: str, channels: Sequence[str]) -> Versions:
        """Those of these channels, as committed now."""

    async def new_losses(self, tenant: str, loss_count: int) -> Sequence[Loss]:
        """What other servers took away of a tenant since this was asked last, up to that count; the first time nothing.

        `apply` refuses with `Gone` what a turn writes that one of them undoes which this has not told yet.
        """

    async def hold_turns(self, tenant: str, name: str) -> None:
        """From now on `apply` refuses with `Gone` what turns of a tenant write, at any server, until they are let.

        Whatever turns were writing is committed by then.
        """

    async def let_turns(self, tenant: str, name: str) -> None:
        """End what was begun under this name. What was not begun is no error."""

    async def missed(self, key: ChannelKey, version: int) -> Missed | None:
        """What came after this version, as caches take it; None: too much, or something was erased.

        Records come without their bodies.
        """
