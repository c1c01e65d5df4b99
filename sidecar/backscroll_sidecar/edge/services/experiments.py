"""Experiments and rollouts: the calls of AdminService about them."""

from __future__ import annotations

from collections.abc import Mapping

from backscroll.v1 import experiment_pb2 as pb
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.edge.call_pipeline import Call
from backscroll_sidecar.edge.convert.experiments import (
    experiment_from_proto,
    experiment_id,
    experiment_to_proto,
    report_to_proto,
)
from backscroll_sidecar.edge.convert.fields import check_time
from backscroll_sidecar.edge.convert.history import limit_of
from backscroll_sidecar.edge.convert.pages import page_name, page_token, place_of
from backscroll_sidecar.learning.experiment_reads import ExperimentReports
from backscroll_sidecar.learning.experiments import ExperimentService, KeptExperiment


class ExperimentCalls:
    """Answers the calls about experiments. Safe for any number of calls at once on one event loop."""

    def __init__(
        self,
        experiments: ExperimentService,
        reports: ExperimentReports,
        profiles: Mapping[str, Profile],
    ) -> None:
        self._experiments = experiments
        self._reports = reports
        self._profiles = profiles

    async def put_experiment(
        self, request: pb.PutExperimentRequest, call: Call
    ) -> pb.PutExperimentResponse:
        """Keep one, after its commit."""
        id_, settings, starts_at_ms = experiment_from_proto(request, self._profiles)
        kept, moved = await self._experiments.put(
            call.tenant,
            id_,
            settings,
            starts_at_ms=starts_at_ms,
            allow_moves=request.allow_moves,
            validate_only=request.validate_only,
            deadline_s=call.deadline_s,
        )
        return pb.PutExperimentResponse(experiment=self._told(kept), moved_share=moved)

    async def get_experiment(
        self, request: pb.GetExperimentRequest, call: Call
    ) -> pb.GetExperimentResponse:
        """One of them."""
        found = await self._experiments.get(call.tenant, experiment_id(request.experiment_id))
        return pb.GetExperimentResponse(experiment=self._told(found))

    async def list_experiments(
        self, request: pb.ListExperimentsRequest, call: Call
    ) -> pb.ListExperimentsResponse:
        """Page through them, what was put last first."""
        limit, place = limit_of(request), page_name(request)
        before = None if place is None else place_of(place)
        found, behind = await self._experiments.list(call.tenant, limit, before)
        answer = pb.ListExperimentsResponse(experiments=map(self._told, found))
        if behind is not None:
            answer.next_page_token = page_token(request, f"{behind[0]} {behind[1]}")
        return answer

    async def stop_experiment(
        self, request: pb.StopExperimentRequest, call: Call
    ) -> pb.StopExperimentResponse:
        """End one, after the commit."""
        id_ = experiment_id(request.experiment_id)
        kept = await self._experiments.stop(call.tenant, id_, call.deadline_s)
        return pb.StopExperimentResponse(experiment=self._told(kept))

    async def delete_experiment(
        self, request: pb.DeleteExperimentRequest, call: Call
    ) -> pb.DeleteExperimentResponse:
        """Forget one."""
        id_ = experiment_id(request.experiment_id)
        existed = await self._experiments.delete(call.tenant, id_, call.deadline_s)
        return pb.DeleteExperimentResponse(existed=existed)

    async def get_experiment_report(
        self, request: pb.GetExperimentReportRequest, call: Call
    ) -> pb.GetExperimentReportResponse:
        """What one came to."""
        id_ = experiment_id(request.experiment_id)
        since = request.since_ms if request.HasField("since_ms") else None
        until = request.until_ms if request.HasField("until_ms") else None
        found = await self._reports.report(
            call.tenant,
            id_,
            None if since is None else check_time(since, "since_ms"),
            None if until is None else check_time(until, "until_ms"),
        )
        return report_to_proto(found, self._experiments.clock.now_ms())

    def _told(self, one: KeptExperiment) -> pb.Experiment:
        return experiment_to_proto(one, self._experiments.clock.now_ms())
