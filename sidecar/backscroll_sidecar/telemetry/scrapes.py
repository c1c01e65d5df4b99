"""Prometheus: metrics in its text form over HTTP. The library writes the text and answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from backscroll_sidecar.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric


MOST_SILENCE_S = 10.0
"""A connection from which nothing comes for so long is closed."""


class _Collector:
    """What the library asks at a scrape."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        """The metrics as they are."""
        from prometheus_client.metrics_core import Metric  # noqa: PLC0415 - only who scrapes pays for it

        for metric, samples in self._metrics.read():
            family = Metric(metric.name, metric.help, metric.kind)
            for one in samples:
                name = metric.sample_name(one.part)
                family.add_sample(name, one.labelled(metric), one.value)
            yield family


class MetricsServer:
    """Answers scrapes over HTTP, from a thread of its own, until it is closed.

    Attributes
    ----------
    address
        ``host:port`` as bound.
    """

    def __init__(self, host: str, port: int, metrics: Metrics) -> None:
        from prometheus_client import CollectorRegistry, start_http_server  # noqa: PLC0415

        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collector(metrics))
        self._server, self._thread = start_http_server(port, host, registry)
        # Each connection has a thread: one that asks nothing must not keep it, nor print where it broke off.
        for part, name, value in (
            (self._server.RequestHandlerClass, "timeout", MOST_SILENCE_S),
            (self._server, "handle_error", lambda *_: None),
        ):
            setattr(part, name, value)
        port = self._server.server_port
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
