"""Experiments and rollouts: other settings for a share of the channels, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from backscroll._calls.plan import Call, Listing, Plan, pages
from backscroll._encode import encode
from backscroll.v1 import experiment_pb2
from backscroll.values import ExperimentArm, When

AssignedByName: TypeAlias = Literal["hash", "resolver"]
AnyArm: TypeAlias = ExperimentArm | experiment_pb2.ExperimentArm


def put_experiment(
    experiment_id: str,
    arms: Sequence[AnyArm],
    *,
    coverage: float | None = None,
    holdout: float = 0.0,
    allowed_channels: Sequence[str] = (),
    denied_channels: Sequence[str] = (),
    shadow: AnyArm | None = None,
    assigned_by: AssignedByName | int = "hash",
    starts_at: When | None = None,
    stops_at: When | None = None,
    description: str = "",
    bucket_version: int | None = None,
    allow_moves: bool = False,
    validate_only: bool = False,
    timeout_s: float | None = None,
) -> Plan[experiment_pb2.PutExperimentResponse]:
    """Try arms on channels, or roll one out to a share of them; in the place of the experiment of that id.

    A channel stays in its arm: more coverage moves nobody.

    Parameters
    ----------
    experiment_id
        Names it.
    arms
        What is tried. With one arm the other channels are its control.
    coverage
        The share of the channels that are in an arm, 0 to 1. None: all.
    holdout
        The share of all channels that never get an arm.
    allowed_channels, denied_channels
        In an arm, or in none, whatever the shares.
    shadow
        Built behind the answers of channels in an arm, and only recorded.
    assigned_by
        "resolver": a class of your own on the server says in which arm a channel is.
    starts_at, stops_at
        From when to when. None: from now, or as before; until it is stopped.
    description
        What it is for.
    bucket_version
        Another number shuffles all channels anew.
    allow_moves
        Channels may come to be elsewhere. False: that is refused, with the share that would move.
    validate_only
        Check it and keep nothing.
    timeout_s
        Deadline of the call. None: the client's.

    Raises
    ------
    Refused
        With reason CHANNELS_WOULD_MOVE, or EXPERIMENTS_OVERLAP: another one runs at the same time.
    InvalidRequest
        For a value out of its range, and with reason UNKNOWN_PROFILE.

    Examples
    --------
    >>> put = client.put_experiment(
    ...     "short", [ExperimentArm("five", profile="classic")], coverage=0.1
    ... )
    >>> put.experiment.experiment_id, put.moved_share
    ('short', 0.0)
    """
    experiment = encode(
        experiment_pb2.Experiment,
        experiment_id=experiment_id,
        arms=arms,
        coverage=coverage,
        holdout=holdout,
        allowed_channels=allowed_channels,
        denied_channels=denied_channels,
        shadow=shadow,
        assigned_by=assigned_by,
        starts_at_ms=starts_at,
        stops_at_ms=stops_at,
        description=description,
        bucket_version=bucket_version,
    )
    request = experiment_pb2.PutExperimentRequest(
        experiment=experiment, allow_moves=allow_moves, validate_only=validate_only
    )
    response: experiment_pb2.PutExperimentResponse = yield Call("PutExperiment", request, timeout_s)
    return response


def get_experiment(
    experiment_id: str, *, timeout_s: float | None = None
) -> Plan[experiment_pb2.Experiment]:
    """Return an experiment.

    Raises
    ------
    NotFound
        With reason EXPERIMENT_NOT_FOUND.

    Examples
    --------
    >>> _ = client.put_experiment("short", [ExperimentArm("five")])
    >>> client.get_experiment("short").arms[0].name
    'five'
    """
    response: experiment_pb2.GetExperimentResponse = yield Call(
        "GetExperiment",
        encode(experiment_pb2.GetExperimentRequest, experiment_id=experiment_id),
        timeout_s,
    )
    return response.experiment


def list_experiments(
    *, limit: int | None = None, page_size: int | None = None, timeout_s: float | None = None
) -> Listing[experiment_pb2.Experiment]:
    """Iterate over the experiments, what was put last first.

    Examples
    --------
    >>> _ = client.put_experiment("short", [ExperimentArm("five")])
    >>> [one.experiment_id for one in client.list_experiments(limit=1)]
    ['short']
    """
    request = encode(experiment_pb2.ListExperimentsRequest, limit=page_size)
    yield from pages("ListExperiments", request, "experiments", timeout_s, limit)


def stop_experiment(
    experiment_id: str, *, timeout_s: float | None = None
) -> Plan[experiment_pb2.Experiment]:
    """End an experiment now. One that is over stays as it is.

    Raises
    ------
    NotFound
        With reason EXPERIMENT_NOT_FOUND.

    Examples
    --------
    >>> _ = client.put_experiment("short", [ExperimentArm("five")])
    >>> client.stop_experiment("short").stops_at_ms > 0
    True
    """
    response: experiment_pb2.StopExperimentResponse = yield Call(
        "StopExperiment",
        encode(experiment_pb2.StopExperimentRequest, experiment_id=experiment_id),
        timeout_s,
    )
    return response.experiment


def delete_experiment(experiment_id: str, *, timeout_s: float | None = None) -> Plan[bool]:
    """End an experiment and forget it, and say whether there was one. Records of its builds stay.

    Examples
    --------
    >>> client.delete_experiment("long")
    False
    """
    response: experiment_pb2.DeleteExperimentResponse = yield Call(
        "DeleteExperiment",
        encode(experiment_pb2.DeleteExperimentRequest, experiment_id=experiment_id),
        timeout_s,
    )
    return response.existed


def get_experiment_report(
    experiment_id: str,
    *,
    since: When | None = None,
    until: When | None = None,
    timeout_s: float | None = None,
) -> Plan[experiment_pb2.GetExperimentReportResponse]:
    """Compare what the arms came to: builds, time, tokens, explicit feedback, fallbacks, recall.

    Parameters
    ----------
    experiment_id
        Which.
    since, until
        Only builds from then on, and before then. None: since its arms are what they are, and all.
    timeout_s
        Deadline of the call. None: the client's.

    Raises
    ------
    NotFound
        With reason EXPERIMENT_NOT_FOUND.

    Examples
    --------
    >>> _ = client.put_experiment("short", [ExperimentArm("five")])
    >>> [arm.arm for arm in client.get_experiment_report("short").arms]
    ['five', 'control']
    """
    request = encode(
        experiment_pb2.GetExperimentReportRequest,
        experiment_id=experiment_id,
        since_ms=since,
        until_ms=until,
    )
    response: experiment_pb2.GetExperimentReportResponse = yield Call(
        "GetExperimentReport", request, timeout_s
    )
    return response
