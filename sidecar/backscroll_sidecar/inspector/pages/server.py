"""Pages of the whole server: trends, health and experiments."""

from __future__ import annotations

from backscroll.v1 import admin_pb2, experiment_pb2
from backscroll_sidecar.inspector import experiments, numbers_of_server
from backscroll_sidecar.inspector.visits import Page, Visit

MINUTES = 60
EXPERIMENTS = 100
"""Of a page."""


async def trends(visit: Visit) -> Page:
    """What the server counted in its last hour."""
    answer = await _metrics(visit)
    view = {
        "panels": numbers_of_server.panels(answer),
        "periods": numbers_of_server.periods(answer),
    }
    return Page("trends.html", view, "trends")


async def health(visit: Visit) -> Page:
    """Whether somebody should look at the server."""
    answer = await _metrics(visit)
    return Page("health.html", {"checks": numbers_of_server.checks(answer)}, "health")


async def experiment_list(visit: Visit) -> Page:
    """All experiments."""
    answer = await visit.asked.ask(
        "AdminService/ListExperiments",
        experiment_pb2.ListExperimentsRequest(
            limit=EXPERIMENTS, page_token=visit.field("page_token")
        ),
        experiment_pb2.ListExperimentsResponse,
    )
    view = {
        "experiments": [experiments.experiment_line(one) for one in answer.experiments],
        "next": answer.next_page_token,
    }
    return Page("experiments.html", view, "experiments")


async def experiment(visit: Visit) -> Page:
    """What the arms of an experiment came to."""
    answer = await visit.asked.ask(
        "AdminService/GetExperimentReport",
        experiment_pb2.GetExperimentReportRequest(experiment_id=visit.field("id")),
        experiment_pb2.GetExperimentReportResponse,
    )
    return Page("experiment.html", {"report": experiments.report(answer)}, "experiment")


async def _metrics(visit: Visit) -> admin_pb2.GetMetricsResponse:
    return await visit.asked.ask(
        "AdminService/GetMetrics",
        admin_pb2.GetMetricsRequest(minutes=MINUTES),
        admin_pb2.GetMetricsResponse,
    )
