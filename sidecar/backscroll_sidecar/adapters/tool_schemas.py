"""Schemas of tools, whichever vendor's form a bot wrote them in, as each vendor takes them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

_CAPITAL_TYPES = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
_NOT_SCHEMAS = ("enum", "const", "default", "example", "examples")
NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}


class ToolSchema(NamedTuple):
    """A function that a model may call.

    Attributes
    ----------
    parameters : JSON schema of an object.
    is_strict : whether the vendor shall hold the model to it; None: as the vendor likes.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    is_strict: bool | None = None


@lru_cache(maxsize=64)
def tool_schemas(tools_json: str) -> tuple[Sequence[ToolSchema], Sequence[Mapping[str, Any]]]:
    """The functions in a JSON list of tools, and what is none: a vendor's own tools, such as a search.

    Read are the forms of Chat Completions (`function`), Responses (`name`, `parameters`), Anthropic (`input_schema`)
    and Gemini (`functionDeclarations`, types in capitals).
    """
    tools = orjson.loads(tools_json) if tools_json else []
    functions: list[ToolSchema] = []
    others: list[Mapping[str, Any]] = []
    for tool in tools if isinstance(tools, list) else ():
        found = _functions_in(tool) if isinstance(tool, dict) else []
        functions += found
        if not found and isinstance(tool, dict):
            others.append(tool)
    return functions, others


def _functions_in(tool: Mapping[str, Any]) -> list[ToolSchema]:
    declared = tool.get("functionDeclarations") or tool.get("function_declarations")
    if isinstance(declared, list):
        return [found for one in declared if isinstance(one, dict) for found in _function(one)]
    inner = tool.get("function")
    if isinstance(inner, dict):
        return _function(inner)
    is_function = tool.get("type", "custom") in {"function", "custom"}
    return _function(tool) if is_function and isinstance(tool.get("name"), str) else []


def _function(said: Mapping[str, Any]) -> list[ToolSchema]:
    name, description = said.get("name"), said.get("description")
    if not isinstance(name, str) or not name:
        return []
    names = ("parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema")
    schemas = [one for one in map(said.get, names) if isinstance(one, dict) and one]
    strict = said.get("strict")
    return [
        ToolSchema(
            name,
            description if isinstance(description, str) else "",
            _lower_types(schemas[0]) if schemas else NO_PARAMETERS,
            strict if isinstance(strict, bool) else None,
        )
    ]


def _lower_types(schema: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """A schema whose types are in Gemini's capitals as JSON Schema has them; any other unchanged."""
    if isinstance(schema, list):
        return [_lower_types(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    found = {
        name: value if name in _NOT_SCHEMAS else _lower_types(value)
        for name, value in schema.items()
    }
    return found | {"type": kind.lower()} if kind in _CAPITAL_TYPES else found
