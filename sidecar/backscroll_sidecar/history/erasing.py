"""One receipt of the changes that make up an erasure. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from backscroll_sidecar.ports import RECEIPT_STORES, EraseReceipt


def summed(receipts: Iterable[EraseReceipt | None]) -> EraseReceipt:
    """One receipt of several, without times."""
    counts = Counter(dict.fromkeys(RECEIPT_STORES, 0))
    is_dry_run = False
    for receipt in receipts:
        if receipt is not None:
            counts.update(receipt.counts)
            is_dry_run = receipt.is_dry_run
    return EraseReceipt(dict(sorted(counts.items())), is_dry_run)
