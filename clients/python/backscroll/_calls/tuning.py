"""Weights of channels that are learnt from use."""

from __future__ import annotations

from backscroll._calls.plan import BULK_TIMEOUT_S, Call, Listing, Plan, pages
from backscroll._encode import encode
from backscroll.v1 import admin_pb2


def tune_channel(
    channel: str,
    *,
    dry_run: bool = False,
    requested_by: str = "",
    timeout_s: float | None = BULK_TIMEOUT_S,
) -> Plan[admin_pb2.TuneChannelResponse]:
    """Have better weights proposed from recorded feedback, and adopted where every rule permits it.

    Weights adopted last are judged first, and taken back where the gain is not there. `reason` and
    `detail` of the answer say which rule decided.

    Parameters
    ----------
    channel
        Which to tune.
    dry_run
        Change nothing.
    requested_by
        Who asks; kept with the version.
    timeout_s
        Deadline of the call. None: the client's.

    Examples
    --------
    >>> client.tune_channel("room", dry_run=True).detail
    'replay only: no propensities'
    """
    request = encode(
        admin_pb2.TuneChannelRequest, channel=channel, dry_run=dry_run, requested_by=requested_by
    )
    response: admin_pb2.TuneChannelResponse = yield Call("TuneChannel", request, timeout_s)
    return response


def list_weight_versions(
    channel: str,
    *,
    limit: int | None = None,
    page_size: int | None = None,
    timeout_s: float | None = None,
) -> Listing[admin_pb2.WeightVersion]:
    """Iterate over the weights that a channel had by tuning, the newest first.

    Examples
    --------
    >>> list(client.list_weight_versions("room"))
    []
    """
    request = encode(admin_pb2.ListWeightVersionsRequest, channel=channel, limit=page_size)
    yield from pages("ListWeightVersions", request, "versions", timeout_s, limit)


def roll_back_weights(
    channel: str,
    version: int | None = None,
    *,
    requested_by: str = "",
    timeout_s: float | None = None,
) -> Plan[admin_pb2.WeightVersion]:
    """Let the weights of an earlier version hold again, as a new version.

    Parameters
    ----------
    channel
        Whose weights.
    version
        Which come back; 0: the server's. None: those before the ones that hold.
    requested_by
        Who asks; kept with the new version.
    timeout_s
        Deadline of the call. None: the client's.

    Raises
    ------
    InvalidRequest
        If the channel has no tuned weights, or no such version.

    Examples
    --------
    >>> client.roll_back_weights("tuned", 0).weights
    []
    """
    request = encode(
        admin_pb2.RollBackWeightsRequest,
        channel=channel,
        version=version,
        requested_by=requested_by,
    )
    response: admin_pb2.RollBackWeightsResponse = yield Call("RollBackWeights", request, timeout_s)
    return response.version
