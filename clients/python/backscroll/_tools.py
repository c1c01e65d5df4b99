"""A bot's functions as tools of a model: their schemas, and how they are run."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias, Union, get_args, get_origin

from backscroll._encode import clean
from backscroll.values import ToolCall, ToolResult

ToolFunctions: TypeAlias = Mapping[str, Callable[..., Any]]

MAX_RESULT_BYTES = 65_536
"""What the server takes as the text of one result."""
_CUT = "… [cut]"
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)
"""What vendors take as the name of a tool."""
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
    parameters: Mapping[str, frozenset[str] | None]
    """By tool, what a model may set; None: its schema does not say."""

    @classmethod
    def of(cls, tools: ToolFunctions, tools_json: str) -> Self | None:
        """Take the table as it is now; None: there is none, or it cannot be had.

        Raises
        ------
        TypeError
            If it is no table of functions by name.
        ValueError
            If a function does not tell enough about itself to be described, or no vendor takes a tool's name.
        """
        if not hasattr(tools, "keys"):
            raise TypeError(
                f"tools must be a dict of functions by name, not {type(tools).__name__}"
            )
        try:
            functions = {name: tools[name] for name in tools}
            _check_functions(functions)
            schemas = tools_json or json.dumps(
                [schema_of(name, function) for name, function in functions.items()],
                ensure_ascii=False,
            )
        except _NoFunctions as wrong:
            raise TypeError(str(wrong)) from None
        except Undescribed as wrong:
            raise ValueError(str(wrong)) from wrong.__cause__
        except Exception:  # noqa: BLE001 - a registry of the bot's: whatever it raises
            _log.warning("the table of tools cannot be read: tools are off", exc_info=True)
            return None
        parameters = _parameters(schemas)
        _check_names(parameters)
        return cls(functions, schemas, parameters) if functions else None

    def now(self) -> None:
        """Check, before anything is asked, that the functions can be called where nothing is awaited.

        Raises
        ------
        TypeError
            If one is asynchronous.
        """
        for name, function in self.functions.items():
            if _is_asynchronous(function):
                raise _needs_a_loop(name)

    async def awaited(self) -> None:
        """Nothing to check: here every function can be called."""

    def run_of(self, call: ToolCall) -> ToolRun:
        """Look up what a call means; a tool the model was not given is none."""
        if call.name not in self.parameters:
            return ToolRun(None, call)
        return ToolRun(self.functions.get(call.name), call, self.parameters[call.name])


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One call of a function; what it raises becomes a result in words safe to show a model."""

    function: Callable[..., Any] | None
    call: ToolCall
    parameters: frozenset[str] | None = None

    def now(self) -> ToolResult:
        """Call the function.

        Raises
        ------
        TypeError
            If what it returns must be awaited.
        """
        try:
            value = self._called()
            if not inspect.isawaitable(value):
                return self._result(value)
        except Exception as error:  # noqa: BLE001 - a tool that fails costs only itself
            return self._failed(error)
        if inspect.iscoroutine(value):
            value.close()
        raise _needs_a_loop(self.call.name)

    async def awaited(self) -> ToolResult:
        """Await the function if it is asynchronous; else call it in a thread: it may take its time."""
        try:
            if _is_asynchronous(self.function):
                value = self._called()
            else:
                value, error = await asyncio.to_thread(self._tried)
                if error is not None:
                    return self._failed(error)
            return self._result(await value if inspect.isawaitable(value) else value)
        except Exception as error:  # noqa: BLE001 - as above
            return self._failed(error)

    def _tried(self) -> tuple[object, Exception | None]:
        """What the function returns or raises; not every error can leave a thread by itself."""
        try:
            return self._called(), None
        except Exception as error:  # noqa: BLE001 - as above
            return None, error

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
        known = self.parameters
        for name in arguments:
            if name.startswith("_") if known is None else name not in known:
                raise _Unfit(f"the arguments do not fit: there is no {name!r}")
        return self.function(**arguments)

    def _result(self, value: object) -> ToolResult:
        if not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False, default=str)
        return ToolResult(self.call.id, _cut(clean(value)), self.call.name)

    def _failed(self, error: Exception) -> ToolResult:
        ours = isinstance(error, _Unfit)
        text = str(error) if ours else "the tool failed"
        _log.warning("tool %r: %s", self.call.name, text, exc_info=None if ours else error)
        return ToolResult(self.call.id, _cut(clean(text)), self.call.name, is_error=True)


class _Unfit(Exception):
    """The call cannot be made; the words are ours and safe."""


class Undescribed(ValueError):
    """A function does not tell enough about itself."""


class _NoFunctions(TypeError):
    """A table holds something else than functions by name."""


def _check_functions(functions: Mapping[Any, Any]) -> None:
    for name, function in functions.items():
        if not isinstance(name, str):
            raise _NoFunctions(f"tools must be functions by name: {name!r} is no text")
        if not callable(function):
            raise _NoFunctions(
                f"the tool {name!r} must be a function, not {type(function).__name__}"
            )


def _check_names(names: Iterable[str]) -> None:
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"no vendor takes {name!r} as the name of a tool: it must be 1 to 64 letters, digits, _ or -"
            )


def _needs_a_loop(name: str) -> TypeError:
    return TypeError(f"the tool {name!r} is asynchronous: use AsyncClient")


def schema_of(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """Describe a function as a tool: its parameters by their annotations, its first paragraph.

    Parameters that begin with an underscore are the bot's own and left out.

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
        raise Undescribed(
            f"the tool {name!r} cannot be described ({error}); give tools_json"
        ) from error
    if any(one.kind is one.POSITIONAL_ONLY for one in parameters):
        raise Undescribed(f"the tool {name!r} takes arguments without a name; give tools_json")
    named = [one for one in parameters if one.kind in {one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY}]
    private = [one for one in named if one.name.startswith("_")]
    if any(one.default is one.empty for one in private):
        raise Undescribed(f"the tool {name!r} needs an argument that begins with an underscore")
    named = [one for one in named if one not in private]
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


def _parameters(schemas_json: str) -> dict[str, frozenset[str] | None]:
    """By tool, the names its schema lists. What is no schema is for the server to refuse."""
    try:
        schemas = json.loads(schemas_json)
    except (ValueError, RecursionError):
        schemas = None
    found: dict[str, frozenset[str] | None] = {}
    for schema in schemas if isinstance(schemas, list) else []:
        function = schema.get("function") if isinstance(schema, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            continue
        taken = function.get("parameters")
        properties = taken.get("properties") if isinstance(taken, dict) else None
        found[function["name"]] = frozenset(properties) if isinstance(properties, dict) else None
    return found


def _is_asynchronous(function: Callable[..., Any] | None) -> bool:
    """Also where `function` is an object that is called."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(type(function), "__call__", None)  # noqa: B004 - the method itself is wanted
    )


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
