"""Erasures as lines of JSON, so that a backup from before them can be brought up to date. Pure.

{"tenant":"default","user_id":"u1","all_channels":true,"erased_at_ms":1795176000000}
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import InvalidRequest, Reason
from backscroll_sidecar.ports import EVERYWHERE, EraseChange


class Erasure(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What is or was erased, and when.

    A `channel` alone is all of it; with `user_id` or `message_ids` only these go. `all_channels` goes with a `user_id`
    and without a channel, `whole_tenant` alone.
    """

    tenant: str
    channel: str = ""
    user_id: str = ""
    message_ids: tuple[str, ...] = ()
    all_channels: bool = False
    whole_tenant: bool = False
    erased_at_ms: int

    @property
    def is_of_tenant(self) -> bool:
        """Whether it reaches beyond one channel."""
        return self.all_channels or self.whole_tenant

    def changes(
        self, channels: Sequence[str] = (), *, is_dry_run: bool = False
    ) -> list[EraseChange]:
        """What it does, one change a channel: each is a transaction of its own, and what is done already finds nothing.

        Whoever dies between two of them, or is told to come again, repeats the erasure.

        Parameters
        ----------
        channels : sequence of str
            Of one that reaches beyond a channel: what `HistoryReader.channels_to_erase` found.
        is_dry_run : bool
            They change nothing, and tell what would go.
        """
        places = [*channels, EVERYWHERE] if self.is_of_tenant else [self.channel]
        return [
            EraseChange(
                ChannelKey(self.tenant, place),
                self.message_ids,
                self.user_id,
                self.erased_at_ms,
                is_of_many=self.is_of_tenant,
                is_dry_run=is_dry_run,
            )
            for place in places
        ]


_decoder = msgspec.json.Decoder(Erasure)


def encode(erasure: Erasure) -> bytes:
    """One line, with its line break. Fields that say nothing are left out."""
    return msgspec.json.encode(erasure) + b"\n"


def decode(lines: Iterable[bytes]) -> list[Erasure]:
    """Read lines back, in their order; empty ones are passed over.

    Raises
    ------
    InvalidRequest
        A line is no erasure, or was cut off; its number is told, and the field at fault.
    """
    return [_decoded(line, number) for number, line in enumerate(lines, start=1) if line.strip()]


def check(erasure: Erasure) -> None:
    """Refuse what names nothing, or more than one thing.

    Raises
    ------
    InvalidRequest
        With the field that lacks, or that does not go with another.
    """
    if erasure.whole_tenant:
        _exclude(erasure, "whole_tenant", ("all_channels", "channel", "user_id", "message_ids"))
    elif erasure.all_channels:
        _exclude(erasure, "all_channels", ("channel", "message_ids"))
        if not erasure.user_id:
            raise InvalidRequest(
                "user_id is required with all_channels",
                field="user_id",
                reason=Reason.MISSING_FIELD,
            )
    else:
        if not erasure.channel:
            raise InvalidRequest(
                "channel is required, unless all_channels or whole_tenant is set",
                field="channel",
                reason=Reason.MISSING_FIELD,
            )
        if erasure.user_id:
            _exclude(erasure, "user_id", ("message_ids",))


def _exclude(erasure: Erasure, field: str, others: Iterable[str]) -> None:
    for other in others:
        if getattr(erasure, other):
            raise InvalidRequest(
                f"{other} does not go with {field}: name one of them",
                field=other,
                reason=Reason.INVALID_FIELD,
            )


def _decoded(line: bytes, number: int) -> Erasure:
    try:
        erasure = _decoder.decode(line)
        check(erasure)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"line {number}: {error}", field=f"line {number}") from error
    except InvalidRequest as error:
        raise InvalidRequest(f"line {number}: {error.message}", field=error.field) from error
    return erasure
