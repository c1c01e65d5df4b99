"""What a run of changes does, decided once for every store. Pure: facts in, plan out."""

from backscroll_sidecar.store.decide.needs import needs_of, runs
from backscroll_sidecar.store.decide.run import decide

__all__ = ["decide", "needs_of", "runs"]
