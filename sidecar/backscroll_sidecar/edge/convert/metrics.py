"""Metrics to messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from backscroll.v1 import admin_pb2 as pb
from backscroll_sidecar.errors import InvalidRequest
from backscroll_sidecar.telemetry.catalogue import CATALOGUE, PERIOD, Kind, Metric
from backscroll_sidecar.telemetry.metrics import Metrics, Reading, Sample

KIND_NUMBERS: dict[Kind, pb.MetricKind] = {
    "counter": pb.METRIC_KIND_COUNTER,
    "gauge": pb.METRIC_KIND_GAUGE,
    "histogram": pb.METRIC_KIND_HISTOGRAM,
    "summary": pb.METRIC_KIND_SUMMARY,
}
COUNTS = ("_bucket", "_count")
"""Parts that count, whatever their metric measures."""


def metrics_response(metrics: Metrics, request: pb.GetMetricsRequest) -> pb.GetMetricsResponse:
    """The samples of all metrics, or of those with the names that are asked for. Takes a millisecond or several.

    Raises
    ------
    InvalidRequest
        No metric has one of the names.
    """
    wanted = {_found(name, f"names[{i}]") for i, name in enumerate(request.names)} or CATALOGUE

    def samples(readings: Iterable[Reading]) -> Iterator[pb.MetricSample]:
        return (
            _sample(metric, one) for metric, found in readings if metric in wanted for one in found
        )

    answer = pb.GetMetricsResponse(samples=samples(metrics.read()))
    if request.minutes:
        for began_at_ms, readings in metrics.by_minute(request.minutes):
            answer.minutes.add(began_at_ms=began_at_ms, samples=samples(readings))
    return answer


def _found(name: str, field: str) -> Metric:
    """The metric of that name, with or without what a sample's name ends with."""
    for metric in CATALOGUE:
        if name == metric.name or name in map(metric.sample_name, _parts(metric)):
            return metric
    raise InvalidRequest(f"{field}: no metric has this name", field=field)


def _parts(metric: Metric) -> tuple[str, ...]:
    return ("_sum", *COUNTS) if metric.kind in {"histogram", "summary"} else ("",)


def _sample(metric: Metric, one: Sample) -> pb.MetricSample:
    labels = one.labelled(metric)
    period = labels.pop(PERIOD, "")
    return pb.MetricSample(
        name=metric.sample_name(one.part),
        labels=labels,
        value=one.value,
        unit="" if one.part in COUNTS else metric.unit,
        period=period,
        kind=KIND_NUMBERS[metric.kind],
    )
