"""What an experiment changes of a request. Pure."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.domain import Overrides
from backscroll_sidecar.ports import NO_TRIAL, Placement, Trial

_PLAIN = Overrides()
KEPT = 256


def takes_part(request: BuildRequest, placement: Placement) -> bool:
    """Whether the request leaves open all that the experiment's arms set.

    Else it would be built alike in every arm, and tell nothing of them. That does not depend on its own arm.
    """
    sets = placement.sets
    if request.profile and "profile" in sets:
        return False
    if request.names_layout and "layout" in sets:
        return False
    return request.overrides is _PLAIN or not _gives_any(request.overrides, sets)


@lru_cache(maxsize=KEPT)
def _gives_any(overrides: Overrides, names: frozenset[str]) -> bool:
    given = msgspec.structs.asdict(overrides)
    return any(given.get(name) not in (None, (), _PLAIN.weights) for name in names)


def laid_out(request: BuildRequest, placement: Placement) -> BuildRequest:
    """The request with the layout of its arm."""
    layout = placement.settings.layout
    if layout is None or layout is request.layout:
        return request
    return msgspec.structs.replace(request, layout=layout)


def trial_of(placement: Placement, shadow_of: str = "") -> Trial:
    """The place of a build's channel as it is recorded. `shadow_of`: the context id of the build it is made behind."""
    if not placement.experiment_id:
        return NO_TRIAL
    return Trial(placement.experiment_id, placement.arm, placement.is_listed, shadow_of)
