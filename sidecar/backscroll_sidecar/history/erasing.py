"""An erasure as changes, one a channel: each is a transaction of its own, and what is done already finds nothing. Pure.

Whoever dies between two of them, or is told to come again, repeats the erasure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.history.tombstones import Erasure
from backscroll_sidecar.ports import EVERYWHERE, RECEIPT_STORES, EraseChange, EraseReceipt


def changes_of(
    erasure: Erasure, channels: Sequence[str] = (), *, is_dry_run: bool = False
) -> list[EraseChange]:
    """The changes of an erasure, in their order.

    Parameters
    ----------
    erasure : Erasure
        Checked (`tombstones.check`).
    channels : sequence of str
        Of one that reaches beyond a channel: what `HistoryReader.channels_to_erase` found.
    is_dry_run : bool
        They change nothing, and tell what would go.
    """
    places = [*channels, EVERYWHERE] if erasure.is_of_tenant else [erasure.channel]
    return [
        EraseChange(
            ChannelKey(erasure.tenant, place),
            erasure.message_ids,
            erasure.user_id,
            erasure.erased_at_ms,
            is_of_many=erasure.is_of_tenant,
            is_dry_run=is_dry_run,
        )
        for place in places
    ]


def summed(receipts: Iterable[EraseReceipt | None]) -> EraseReceipt:
    """One receipt of several, without times."""
    counts = Counter(dict.fromkeys(RECEIPT_STORES, 0))
    is_dry_run = False
    for receipt in receipts:
        if receipt is not None:
            counts.update(receipt.counts)
            is_dry_run = receipt.is_dry_run
    return EraseReceipt(dict(sorted(counts.items())), is_dry_run)
