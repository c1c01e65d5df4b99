"""What gRPC carries of an error beside code and text: `google.rpc.Status` with an ErrorInfo.

Text and details travel in headers of a few KiB: the details are bounded, so that an error never becomes another one.
"""

from __future__ import annotations

from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from backscroll_sidecar.edge.limits import MAX_ERROR_DETAILS_BYTES
from backscroll_sidecar.edge.status import Refused

DOMAIN = "backscroll.v1"
DETAILS = "grpc-status-details-bin"
NO_RETRY = ("grpc-retry-pushback-ms", "-1")
"""What tells gRPC's own retries to stop."""

Metadata = tuple[tuple[str, str | bytes], ...]


def trailing_metadata(refused: Refused) -> Metadata:
    """The metadata behind the status of a call; details that are too long lose their longest entries."""
    if not refused.reason:
        return ()
    metadata = dict(refused.metadata)
    while True:
        info = error_details_pb2.ErrorInfo(domain=DOMAIN, reason=refused.reason, metadata=metadata)
        detail = any_pb2.Any()
        detail.Pack(info)
        status = status_pb2.Status(code=refused.code, message=refused.text, details=[detail])
        if status.ByteSize() <= MAX_ERROR_DETAILS_BYTES or not metadata:
            break
        del metadata[max(metadata, key=lambda key: len(metadata[key]))]
    details = (DETAILS, status.SerializeToString())
    return (details, NO_RETRY) if refused.is_final else (details,)
