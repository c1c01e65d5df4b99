"""What a build shows, before any of it is written: all that joining an answer needs to know of how it was picked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.domain import Degradation, Rung


class Choice(NamedTuple):
    """The selected among m candidates.

    Attributes
    ----------
    rows : int32[m]
        The candidates: ascending rows of the view.
    chosen : intp[k]
        The places of the selected among them, best first.
    scores : float64[m], or float64[n] where `scored` says whose
    scored : int32[n] or None
        The places that have a score, ascending; None: all.
    kinds : uint32[m]
        Bit i: proposed by the i-th of `sources`.
    references : bool[m]
        Shown as references.
    is_plain : bool
        Nothing is shown beside the selected, each as it was said: no preferences, no tool rounds.
    """

    rung: Rung
    profile: Profile
    rows: NDArray[np.int32]
    chosen: NDArray[np.intp]
    scores: NDArray[np.float64]
    scored: NDArray[np.int32] | None
    kinds: NDArray[np.uint32]
    references: NDArray[np.bool_]
    sources: tuple[str, ...]
    is_plain: bool
    exhaustive: bool
    degradations: tuple[Degradation, ...]
