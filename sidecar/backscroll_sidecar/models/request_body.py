"""The body of a call of a model: the adapter's payload and the fields of the call. Pure, no SDK."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import orjson
from msgspec import structs

from backscroll_sidecar.adapters import Adapter, PayloadOptions
from backscroll_sidecar.adapters.openai_chat import THOUGHT_FIELDS
from backscroll_sidecar.domain import NeutralMessage, Part, ProviderStatePart
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.models.options import OpenAIOptions
from backscroll_sidecar.models.tool_calls import clean
from backscroll_sidecar.models.vendor_apis import VendorApi
from backscroll_sidecar.ports import ModelFault, ModelRequest

_BESIDE_TOOLS = ("tool_choice", "parallel_tool_calls")
"""Fields that vendors refuse where there are no tools."""


def request_body(
    request: ModelRequest,
    api: VendorApi,
    options: OpenAIOptions,
    provider: str,
    left_out: Collection[str] = (),
) -> bytes:
    """The adapter's payload as it is, then the call's fields.

    Fields of the options' `extra_body` replace those made here, fields of the request replace both. The adapter's stay,
    but for those that hold fields themselves. `left_out`: ``stream_options``, and ``thoughts``, those that the provider
    set apart.
    """
    extra = api.fields(request)
    if "max_tokens" in extra:
        extra[options.max_tokens_field] = extra.pop("max_tokens")
    if "stream_options" in left_out or not options.include_usage:
        extra.pop("stream_options", None)
    tools_json = _checked_tools(request.tools_json)
    extra = _over(extra, options.extra_body)
    if request.extra_body_json:
        extra = _over(extra, orjson.loads(request.extra_body_json))
    if not tools_json:
        for name in _BESIDE_TOOLS:
            extra.pop(name, None)
    if "thoughts" in left_out:
        request = replace(request, messages=tuple(map(without_thoughts, request.messages)))
    payload = _payload(request, api.adapter, tools_json, provider)
    if not extra:
        return payload
    if api.adapter.line_form:
        return payload[:-1] + b"," + orjson.dumps(extra)[1:]
    return orjson.dumps(_over(orjson.loads(payload), extra))


def context_payload(request: ModelRequest, api: VendorApi, provider: str) -> bytes:
    """The adapter's payload alone."""
    return _payload(request, api.adapter, "", provider)


def _over(fields: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with others over them; of two objects the fields."""
    found = dict(fields)
    for name, value in others.items():
        known = found.get(name)
        if isinstance(known, dict) and isinstance(value, dict):
            value = known | value  # noqa: PLW2901
        found[name] = value
    return found


def has_thoughts(messages: Iterable[NeutralMessage]) -> bool:
    """Whether a server's thoughts are among them."""
    return any(_is_thought(part) for one in messages for part in one.parts)


def without_thoughts(message: NeutralMessage) -> NeutralMessage:
    """The message without thoughts that its server set apart."""
    if not has_thoughts([message]):
        return message
    return structs.replace(
        message, parts=tuple(one for one in message.parts if not _is_thought(one))
    )


def _is_thought(part: Part) -> bool:
    return isinstance(part, ProviderStatePart) and part.kind in THOUGHT_FIELDS


def _payload(request: ModelRequest, adapter: Adapter, tools_json: str, provider: str) -> bytes:
    options = PayloadOptions(
        request.model, tools_json, request.with_names, provider, request.max_output_tokens
    )
    try:
        return adapter.payload(request.messages, options)
    except TypeError:  # a lone surrogate
        messages = [_cleaned(message) for message in request.messages]
        return adapter.payload(messages, options._replace(model=clean(request.model)))


def _checked_tools(tools_json: str) -> str:
    """The tools, which must be a JSON list; an empty one is left out."""
    if not tools_json:
        return ""
    try:
        tools = orjson.loads(tools_json)
    except ValueError:
        tools = None
    if not isinstance(tools, list):
        raise failed(ModelFault.REJECTED, "the tools are not a JSON list")
    return tools_json if tools else ""


def _cleaned(message: NeutralMessage) -> NeutralMessage:
    return structs.replace(
        message,
        content=clean(message.content),
        name=clean(message.name),
        parts=tuple(map(_clean_part, message.parts)),
    )


def _clean_part(part: Part) -> Part:
    """The part with texts that can be sent."""
    fields = structs.asdict(part)
    return structs.replace(
        part, **{name: clean(value) for name, value in fields.items() if isinstance(value, str)}
    )
