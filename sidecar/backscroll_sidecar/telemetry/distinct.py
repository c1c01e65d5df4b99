"""How many different ones there were: exactly while they are few, else estimated. Memory is bounded."""

from __future__ import annotations

import math

MOST = 100_000
"""So many are told apart exactly, in some 10 MB."""
HOUR_S = 3_600.0
INDEX_BITS = 14
"""Of the estimate: 16 KB, and a standard error of 1.04 / sqrt(2 ** 14) = .8 %."""
RANK_BITS = 64 - INDEX_BITS
_REGISTERS = 1 << INDEX_BITS
_ALL_BITS = (1 << 64) - 1
_ALPHA = 0.7213 / (1 + 1.079 / _REGISTERS)


class Distinct:
    """Counts different items by their hashes; names and ids are not kept. Added to by one thread, read by any.

    The estimate is HyperLogLog (Flajolet, Fusy, Gandouet, Meunier 2007). It is only read far above its small range,
    where it needs no correction.
    """

    def __init__(self) -> None:
        self._last_s: dict[int, float] = {}
        self._registers = bytearray(_REGISTERS)
        self._has_dropped = False
        self._full_until_s = -math.inf

    def add(self, item: int, now_s: float) -> None:
        """One was seen; `item` is its hash of 64 bits."""
        if item not in self._last_s:
            self._note(item)
            if len(self._last_s) >= MOST and not self._has_room(now_s):
                return
        self._last_s[item] = now_s

    def since_start(self) -> float:
        """How many there were; from `MOST` on an estimate."""
        if not self._has_dropped:
            return len(self._last_s)
        inverse = sum(2.0**-rank for rank in self._registers)
        return round(_ALPHA * _REGISTERS**2 / inverse)

    def last_hour(self, now_s: float) -> int:
        """How many there were in the last 3,600 s; no more than `MOST` are told."""
        return sum(at_s > now_s - HOUR_S for at_s in list(self._last_s.values()))

    def _has_room(self, now_s: float) -> bool:
        """Whether there is room once those are forgotten that were not seen for an hour; tried once a minute."""
        if now_s < self._full_until_s:
            return False
        self._has_dropped, self._full_until_s = True, now_s + 60.0
        kept = {item: at_s for item, at_s in self._last_s.items() if at_s > now_s - HOUR_S}
        if len(kept) < len(self._last_s):
            self._last_s = kept
        return len(self._last_s) < MOST

    def _note(self, item: int) -> None:
        mixed = _mixed(item)
        place, rest = mixed & (_REGISTERS - 1), mixed >> INDEX_BITS
        rank = RANK_BITS + 1 - rest.bit_length()
        self._registers[place] = max(self._registers[place], rank)


def _mixed(item: int) -> int:
    """64 bits, each of which depends on all of the hash: Python's leave patterns. The finaliser of MurmurHash3."""
    bits = item & _ALL_BITS
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        bits = ((bits ^ bits >> 33) * factor) & _ALL_BITS
    return bits ^ bits >> 33
