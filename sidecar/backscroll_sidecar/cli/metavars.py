"""What stands for a value in a command's help: CHANNEL, N or full|normal, and never a type of Python's."""

from __future__ import annotations

import copy
import inspect
from datetime import datetime
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from typer.models import ArgumentInfo, ParameterInfo

_WORDS = {int: "N", float: "N", datetime: "TIME"}
"""Of options that name no word of their own. Text and paths always do: neither says what it is."""


def with_metavar(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter in typer's terms, with a word for its value where it has none."""
    kind, info = get_args(parameter.annotation)
    if info.metavar or _one_value(kind) is bool:
        return parameter
    named = copy.copy(info)
    named.metavar = _word(parameter.name, info, _one_value(kind))
    return parameter.replace(annotation=Annotated[kind, named])


def in_usage(word: str, *, is_required: bool, takes_several: bool) -> str:
    """An argument as it stands in a line of usage: ``FILE...``, or ``[CHANNEL]`` where it may be left out."""
    word += "..." if takes_several else ""
    return word if is_required else f"[{word}]"


def _word(name: str, info: ParameterInfo, kind: Any) -> str:  # noqa: ANN401 - any type
    if isinstance(info, ArgumentInfo):
        return name.strip("_").upper()
    return "|".join(get_args(kind)) if get_origin(kind) is Literal else _WORDS[kind]


def _one_value(kind: Any) -> Any:  # noqa: ANN401 - as above
    """The type of a value: what may be None, or comes several times, is taken for one that is there."""
    if get_origin(kind) is Literal:
        return kind
    inner = [one for one in get_args(kind) if one is not NoneType]
    return _one_value(inner[0]) if inner else kind
