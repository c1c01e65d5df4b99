# ruff: noqa: N802  (the names of the RPCs)
"""The fake server's experiments."""

from backscroll.v1 import experiment_pb2 as pb


class Experiments:
    def PutExperiment(self, request, context):
        self.fake.arrive("PutExperiment", request, context)
        if not request.validate_only:
            self.fake.experiments[request.experiment.experiment_id] = request.experiment
        return pb.PutExperimentResponse(experiment=request.experiment)

    def GetExperiment(self, request, context):
        self.fake.arrive("GetExperiment", request, context)
        return pb.GetExperimentResponse(experiment=self._experiment(request))

    def ListExperiments(self, request, context):
        self.fake.arrive("ListExperiments", request, context)
        first = int(request.page_token or 0)
        end = first + (request.limit or 100)
        found = list(self.fake.experiments.values())[::-1]
        return pb.ListExperimentsResponse(
            experiments=found[first:end], next_page_token=str(end) if end < len(found) else ""
        )

    def StopExperiment(self, request, context):
        self.fake.arrive("StopExperiment", request, context)
        found = self._experiment(request)
        found.stops_at_ms = 1_795_176_000_000
        return pb.StopExperimentResponse(experiment=found)

    def DeleteExperiment(self, request, context):
        self.fake.arrive("DeleteExperiment", request, context)
        existed = self.fake.experiments.pop(request.experiment_id, None) is not None
        return pb.DeleteExperimentResponse(existed=existed)

    def GetExperimentReport(self, request, context):
        self.fake.arrive("GetExperimentReport", request, context)
        found = self._experiment(request)
        names = [*(arm.name for arm in found.arms), "control"]
        return pb.GetExperimentReportResponse(
            experiment=found, arms=[pb.ArmReport(arm=name) for name in names]
        )

    def _experiment(self, request):
        none = pb.Experiment(experiment_id=request.experiment_id)
        return self.fake.experiments.get(request.experiment_id, none)
