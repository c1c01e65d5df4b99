"""The conformance driver for Python: clients/conformance/README.md says what it reads and writes."""

from __future__ import annotations

import json
import os
import sys
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.json_format import MessageToDict, ParseDict
from google.rpc.error_details_pb2 import ErrorInfo
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub
from grpc_status import rpc_status

from backscroll.v1 import context_pb2, history_pb2
from backscroll.v1.context_pb2_grpc import ContextServiceStub
from backscroll.v1.history_pb2_grpc import HistoryServiceStub

HISTORY, CONTEXT = "backscroll.v1.HistoryService", "backscroll.v1.ContextService"
HEALTH, REFLECTION = "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"
STUBS = {
    HISTORY: HistoryServiceStub,
    CONTEXT: ContextServiceStub,
    HEALTH: HealthStub,
    REFLECTION: ServerReflectionStub,
}
REQUESTS: dict[str, type[Any]] = {
    f"{HISTORY}/AppendMessages": history_pb2.AppendMessagesRequest,
    f"{HISTORY}/EditMessage": history_pb2.EditMessageRequest,
    f"{HISTORY}/ListMessages": history_pb2.ListMessagesRequest,
    f"{HISTORY}/GetChannel": history_pb2.GetChannelRequest,
    f"{HISTORY}/ImportMessages": history_pb2.ImportMessagesRequest,
    f"{HISTORY}/ExportMessages": history_pb2.ExportMessagesRequest,
    f"{CONTEXT}/BuildContext": context_pb2.BuildContextRequest,
    f"{CONTEXT}/StreamChat": context_pb2.StreamChatRequest,
    f"{HEALTH}/Check": health_pb2.HealthCheckRequest,
    f"{REFLECTION}/ServerReflectionInfo": reflection_pb2.ServerReflectionRequest,
}


@cache
def channel(target: str) -> grpc.Channel:
    """Open the channel to one of the targets."""
    options = [("grpc.service_config", os.environ["BACKSCROLL_SERVICE_CONFIG"])]
    if not target.endswith("tls"):
        name = {"plain": "", "retry": "RETRY_", "silent": "SILENT_"}[target]
        return grpc.insecure_channel(os.environ[f"BACKSCROLL_{name}ADDRESS"], options)
    tls = grpc.ssl_channel_credentials(Path(os.environ["BACKSCROLL_TLS_CA"]).read_bytes())
    if target == "token_tls":
        token = grpc.access_token_call_credentials(os.environ["BACKSCROLL_TOKEN"])
        tls = grpc.composite_channel_credentials(tls, token)
    return grpc.secure_channel(os.environ["BACKSCROLL_TLS_ADDRESS"], tls, options)


def answer(step: dict[str, Any]) -> dict[str, Any]:
    """Make one call."""
    service, name = step["call"].split("/")
    method = getattr(STUBS[service](channel(step["target"])), name)
    takes_one = isinstance(method, grpc.UnaryUnaryMultiCallable | grpc.UnaryStreamMultiCallable)
    gives_one = isinstance(method, grpc.UnaryUnaryMultiCallable | grpc.StreamUnaryMultiCallable)
    requests = [ParseDict(one, REQUESTS[step["call"]]()) for one in step["requests"]]
    status, info, responses = "OK", ErrorInfo(), []
    try:
        call = method(
            requests[0] if takes_one else iter(requests), timeout=step["deadline_ms"] / 1_000
        )
        for response in islice([call] if gives_one else call, step.get("cancel_after")):
            responses.append(MessageToDict(response))  # noqa: PERF401 - what came before an error counts
        if "cancel_after" in step:
            call.cancel()
            status = call.code().name
    except grpc.RpcError as error:
        status = error.code().name
        details = rpc_status.from_call(error)
        any(detail.Unpack(info) for detail in (details.details if details else ()))
    told = {"reason": info.reason, "field": info.metadata.get("field", ""), "responses": responses}
    return {"step": step["step"], "status": status, **told}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
