"""Which payloads a build is asked for, and the ones that are made of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import structlog

from backscroll_sidecar.adapters import ADAPTERS, OPENAI_CHAT, Adapter, PayloadOptions
from backscroll_sidecar.adapters.target import provider_of
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.domain import Degradation, NeutralMessage, ResponsePart, Role
from backscroll_sidecar.lines.rendering import AnswerCodec

log = structlog.get_logger(__name__)


class PayloadFormats:
    """The formats there are. `provider`: where payloads go unless a request says so."""

    def __init__(
        self, codec: AnswerCodec, provider: str, adapters: Mapping[str, Adapter] = ADAPTERS
    ) -> None:
        self._codec = codec
        self._provider = provider
        self._adapters = _working(adapters)

    def wanted(self, request: BuildRequest) -> tuple[tuple[str, ...], Adapter]:
        """The names of those that are wanted, and the adapter that tokens are counted for: the first one's, but that of
        Chat Completions where it is among them, which has names besides.
        """
        formats: tuple[str, ...] = ()
        if ResponsePart.PAYLOADS not in request.omit:
            given = request.payload_formats
            formats = (OPENAI_CHAT.name,) if given is None else given
        first = formats if OPENAI_CHAT.name not in formats else (OPENAI_CHAT.name,)
        return formats, next(filter(None, map(self._adapters.get, first)), OPENAI_CHAT)

    def options(self, request: BuildRequest, model: str) -> PayloadOptions:
        """What payloads have beside their messages."""
        return PayloadOptions(
            model,
            request.tools_json,
            request.include_names,
            provider_of(request.provider) or self._provider,
            request.reserve_tokens or None,
        )

    def fields(
        self, names: Sequence[str], messages: Sequence[NeutralMessage], options: PayloadOptions
    ) -> tuple[bytes, tuple[Degradation, ...]]:
        """The fields of the answer for payloads that are made of values; a format costs only itself."""
        fields: list[bytes] = []
        lost: tuple[Degradation, ...] = ()
        for name in names:
            try:
                body = self._adapters[name].payload(messages, options)
                fields.append(self._codec.payload_field(name, body))
            except Exception as error:
                log.warning(
                    "adapter failed", format=name, error=type(error).__name__, exc_info=True
                )
                lost += (Degradation("adapt", "ERROR", name),)
        return b"".join(fields), lost


def _working(adapters: Mapping[str, Adapter]) -> Mapping[str, Adapter]:
    """Those that do not break: one vendor's format costs only itself."""
    found = {}
    for name, adapter in adapters.items():
        try:
            if form := adapter.line_form:
                form.envelope("", "")
                form.around(Role.USER, "name")
            found[name] = adapter
        except Exception as error:
            log.warning("adapter failed", format=name, error=type(error).__name__, exc_info=True)
    return found
