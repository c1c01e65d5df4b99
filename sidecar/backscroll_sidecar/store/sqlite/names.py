"""Names of a group as the one parameter of the statements that begin with `WANTED`."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from backscroll_sidecar.store.facts import Place


def wanted(named: Iterable[tuple[str, ...]]) -> str:
    """The parameter of the statements that begin with `wanted`; a place alone has no name."""
    names: dict[Place, list[str | None]] = {}
    for tenant, channel, *name in named:
        names.setdefault((tenant, channel), []).append(name[0] if name else None)
    return orjson.dumps([(*here, some) for here, some in names.items()]).decode()
