"""Frozen values at a tenth of their price. Below the layers: the words of every layer may be quick."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")


def quick(kind: type[T]) -> type[T]:
    """Make a frozen dataclass with slots a `msgspec.Struct`: one of 13 fields is made in .08 µs instead of 4.

    How it is used stays, `dataclasses.replace` too. `kind` has no base, and no field that a comparison leaves out.
    """
    layout: Any = kind
    given: list[Any] = []
    for one in fields(layout):
        assert one.compare, f"{one.name} of {kind} is left out of comparisons"
        default: Any = one.default
        if one.default_factory is not MISSING:
            default = msgspec.field(default_factory=one.default_factory)
        given.append((one.name, one.type) + (() if default is MISSING else (default,)))
    made_anew = {one.name for one in fields(layout)} | _MADE
    own = {name: value for name, value in vars(kind).items() if name not in made_anew}
    how = layout.__dataclass_params__
    own["__dataclass_fields__"] = layout.__dataclass_fields__
    struct: Any = msgspec.defstruct(
        kind.__name__,
        given,
        frozen=True,
        eq=how.eq,
        namespace=own | {"__doc__": kind.__doc__, "__qualname__": kind.__qualname__},
        module=kind.__module__,
    )
    return cast("type[T]", struct)


_MADE = frozenset(
    f"__{name}__"
    for name in (
        "slots", "match_args", "init", "repr", "eq", "hash", "setattr", "delattr", "getstate", "setstate", "replace",
    )
)  # fmt: skip
"""What a dataclass makes, and a struct has of its own."""
