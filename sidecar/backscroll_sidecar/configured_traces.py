"""Where traces of the settings go. What sends them is imported only if somebody wants them."""

from __future__ import annotations

from importlib.metadata import version
from urllib.parse import urlsplit

from backscroll_sidecar.adapters.target import BASE_URLS
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.errors import StartRefused
from backscroll_sidecar.telemetry.spans import Spans

MISSING = 'is otlp: {} is missing; in the source tree, pip install ".[otel]"; or set it to off'


def configured_spans(settings: Settings) -> Spans | None:
    """What takes spans; None where there shall be none. Raises `StartRefused` where its packages are missing."""
    if settings.traces == "off":
        return None
    try:
        from backscroll_sidecar.telemetry.otel import OtelSpans, otlp_provider  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise StartRefused("traces", MISSING.format(error.name)) from None
    ours = version("backscroll")
    hosts = {
        api: urlsplit(settings.model_base_url or url).hostname or ""
        for api, url in BASE_URLS.items()
    }
    return OtelSpans(otlp_provider(ours), ours, hosts)
