"""What follows from messages, where several servers share a store: who does it, and what one that died left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from backscroll_sidecar.domain import ChannelKey


class Left(NamedTuple):
    """A stretch of arrival numbers, both ends included. Some may be of nothing that is there."""

    key: ChannelKey
    first_seq: int
    last_seq: int


class SharedWork(Protocol):
    """The rows that servers got and have not finished with. All raise `StoreUnavailable`.

    `apply` notes each row that comes or changes as this server's, in its transaction.
    """

    @property
    def holder(self) -> str:
        """Stands for this server as long as it runs."""

    async def end_work(self, tenant: str, done: Mapping[str, Iterable[int]]) -> None:
        """These rows are finished with, by channel. Of what is another's by now nothing changes."""

    async def others_at_work(self) -> Mapping[str, Sequence[str]]:
        """Who else has unfinished rows or holds turns, and of which tenants. For background work only."""

    async def take_over(self, tenant: str, holder: str) -> Sequence[Left]:
        """Make the rows of another server this one's; which they are. Turns that it held may write again.

        Only of one that is gone.
        """
