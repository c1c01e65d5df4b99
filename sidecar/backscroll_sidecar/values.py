"""Frozen values at a quarter of their price.

A frozen dataclass sets every field by a call of `object.__setattr__`: 4 µs for a message of thirteen, and one message
on its way in is half a dozen values, a build some thirty. Below the layers: the words of every layer may be quick.
"""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields
from functools import update_wrapper
from typing import Any, TypeVar

T = TypeVar("T")


def quick(kind: type[T]) -> type[T]:
    """Give a frozen dataclass with slots a constructor of plain assignments; how it is used stays.

    It is frozen for the type checker, which refuses to set a field anywhere: a class that refuses it at run time, too,
    takes twice as long to fill (as one of an unfrozen twin that becomes one of `kind` in the end). `kind` has no
    `__post_init__` and no field named ``self``.
    """
    layout: Any = kind
    names: dict[str, Any] = {"_not_given": MISSING}
    parameters, lines = ["self"], []
    for field in fields(layout):
        if field.default_factory is not MISSING:
            names[f"_make_{field.name}"] = field.default_factory
            made = f"_make_{field.name}()"
            if field.init:
                parameters.append(f"{field.name}=_not_given")
                made += f" if {field.name} is _not_given else {field.name}"
            lines.append(f"self.{field.name} = {made}")
            continue
        has_default = field.default is not MISSING
        names[f"_default_{field.name}"] = field.default
        parameters.append(f"{field.name}=_default_{field.name}" if has_default else field.name)
        lines.append(f"self.{field.name} = {field.name}")
    body = "\n    ".join(lines)
    exec(f"def _fill({', '.join(parameters)}):\n    {body}", names)  # noqa: S102 - as dataclasses does
    layout.__signature__ = inspect.signature(kind)
    layout.__init__ = update_wrapper(names["_fill"], layout.__init__)
    del layout.__setattr__, layout.__delattr__
    return kind
