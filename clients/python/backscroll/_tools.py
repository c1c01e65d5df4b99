"""A bot's functions as tools of a model: their schemas, and how they are run."""

from __future__ import annotations

import inspect
import json
import logging
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias, Union, get_args, get_origin

from backscroll._encode import clean
from backscroll.values import ToolCall, ToolResult

ToolFunctions: TypeAlias = Mapping[str, Callable[..., Any]]

MAX_RESULT_BYTES = 65_536
"""What the server takes as the text of one result."""
_CUT = "… [cut]"
_JSON_TYPES: Mapping[object, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}
_log = logging.getLogger("backscroll")


@dataclass(frozen=True, slots=True)
class ToolTable:
    """The functions of one chat, and the JSON array of their schemas."""

    functions: ToolFunctions
    schemas_json: str

    @classmethod
    def of(cls, tools: ToolFunctions, tools_json: str) -> Self | None:
        """Take the table as it is now; None: there is none, or it cannot be had (S5-49)."""
        try:
            functions = {name: tools[name] for name in tools}
        except RuntimeError:
            _log.warning("the table of tools cannot be read: tools are off", exc_info=True)
            return None
        if not functions:
            return None
        try:
            schemas = tools_json or json.dumps(
                [schema_of(name, function) for name, function in functions.items()],
                ensure_ascii=False,
            )
        except RuntimeError:
            _log.warning("the tools' schemas cannot be made: tools are off", exc_info=True)
            return None
        return cls(functions, schemas)

    def run_of(self, call: ToolCall) -> ToolRun:
        """Look up what a call means."""
        return ToolRun(self.functions.get(call.name), call)


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One call of a function; what it raises becomes a result in words safe to show a model."""

    function: Callable[..., Any] | None
    call: ToolCall

    def now(self) -> ToolResult:
        """Call the function.

        Raises
        ------
        TypeError
            If it is asynchronous.
        """
        if inspect.iscoroutinefunction(self.function):
            raise TypeError(f"the tool {self.call.name!r} is asynchronous: use AsyncClient")
        try:
            return self._result(self._called())
        except Exception as error:  # noqa: BLE001 - a tool that fails costs only itself
            return self._failed(error)

    async def awaited(self) -> ToolResult:
        """Call the function, and await what it returns if it is asynchronous."""
        try:
            value = self._called()
            return self._result(await value if inspect.isawaitable(value) else value)
        except Exception as error:  # noqa: BLE001 - as above
            return self._failed(error)

    def _called(self) -> object:
        if self.function is None:
            raise _Unfit("there is no such tool")
        try:
            arguments = json.loads(self.call.arguments_json or "{}")
        except (ValueError, RecursionError):
            arguments = None
        if not isinstance(arguments, dict):
            raise _Unfit("the arguments are no JSON object")
        try:
            inspect.signature(self.function).bind(**arguments)
        except TypeError as error:
            raise _Unfit(f"the arguments do not fit: {error}") from None
        except ValueError:  # a builtin that does not tell its parameters
            pass
        return self.function(**arguments)

    def _result(self, value: object) -> ToolResult:
        if not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False, default=str)
        return ToolResult(self.call.id, _cut(clean(value)), self.call.name)

    def _failed(self, error: Exception) -> ToolResult:
        text = str(error) if isinstance(error, _Unfit) else "the tool failed"
        _log.warning("tool %r: %s", self.call.name, text, exc_info=not isinstance(error, _Unfit))
        return ToolResult(self.call.id, _cut(clean(text)), self.call.name, is_error=True)


class _Unfit(Exception):
    """The call cannot be made; the words are ours and safe."""


def schema_of(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """Describe a function as a tool: its parameters by their annotations, its first paragraph.

    Raises
    ------
    ValueError
        If it does not tell enough; then its schema must be written by hand.

    Examples
    --------
    >>> def add(a: int, b: int = 0) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> schema_of("add", add)["function"]["parameters"]["properties"]
    {'a': {'type': 'integer'}, 'b': {'type': 'integer'}}
    """
    try:
        parameters = inspect.signature(function, eval_str=True).parameters.values()
    except (AttributeError, NameError, SyntaxError, TypeError, ValueError) as error:
        raise ValueError(
            f"the tool {name!r} cannot be described ({error}); give tools_json"
        ) from error
    if any(one.kind is one.POSITIONAL_ONLY for one in parameters):
        raise ValueError(f"the tool {name!r} takes arguments without a name; give tools_json")
    named = [one for one in parameters if one.kind in {one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY}]
    described = {
        "name": name,
        "parameters": {
            "type": "object",
            "properties": {one.name: _schema_of_type(one.annotation) for one in named},
            "required": [one.name for one in named if one.default is one.empty],
        },
    }
    if words := (inspect.getdoc(function) or "").partition("\n\n")[0]:
        described["description"] = " ".join(words.split())
    return {"type": "function", "function": described}


def _schema_of_type(kind: object) -> dict[str, Any]:
    """JSON schema of an annotation; what has none may be anything."""
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in {Union, types.UnionType}:
        rest = [one for one in inner if one is not type(None)]
        return _schema_of_type(rest[0]) if len(rest) == 1 else {}
    if origin is list and len(inner) == 1:
        return {"type": "array", "items": _schema_of_type(inner[0])}
    return {"type": _JSON_TYPES[origin]} if origin in _JSON_TYPES else {}


def _cut(text: str) -> str:
    raw = text.encode()
    if len(raw) <= MAX_RESULT_BYTES:
        return text
    return raw[: MAX_RESULT_BYTES - len(_CUT.encode())].decode(errors="ignore") + _CUT
