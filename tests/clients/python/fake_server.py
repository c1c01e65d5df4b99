"""A small server on a real socket that keeps messages in lists, notes what it is sent, and fails when told to.

It needs nothing but the client's own dependencies, so that the proof can run it in a bare environment.
"""

import threading
import time
from collections import defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import grpc

from backscroll.v1 import (
    admin_pb2_grpc,
    context_pb2_grpc,
    error_pb2,
    feedback_pb2_grpc,
    history_pb2,
    history_pb2_grpc,
    learning_pb2_grpc,
    preference_pb2_grpc,
    session_pb2_grpc,
)
from tests.clients.python.fake_admin import Admin, Feedback
from tests.clients.python.fake_learning import Learning
from tests.clients.python.fake_services import (
    Context,
    History,
    Outcome,
    Preferences,
    status_of,
)
from tests.clients.python.fake_sessions import Sessions

__all__ = ["REASONS", "THREAD_NAME", "FakeServer", "status_of"]

THREAD_NAME = "fake-server"
"""What the names of threads that answer begin with."""


@dataclass
class Seen:
    """One request as it came in (of an import: each of its requests)."""

    rpc: str
    request: object
    metadata: dict[str, str]
    seconds_left: float | None
    attempt: int


@dataclass
class Script:
    """What the next calls of an RPC do instead of working."""

    faults: deque = field(default_factory=deque)
    delay_s: float = 0.0


class FakeServer:
    """Use as a context manager; `address` is where it listens."""

    def __init__(self, address="127.0.0.1:0", *, credentials=None, with_health=True):
        self._address, self._credentials, self._with_health = address, credentials, with_health
        self.seen: list[Seen] = []
        self.scripts: dict[str, Script] = defaultdict(Script)
        self.channels: dict[str, list[history_pb2.StoredMessage]] = defaultdict(list)
        self.ids: dict[tuple[str, str], history_pb2.StoredMessage] = {}
        self.members: dict[str, list[history_pb2.Member]] = defaultdict(list)
        self.pinned: dict[str, dict[str, None]] = defaultdict(dict)
        self.ended = threading.Event()
        self.hold = threading.Event()  # imports wait while it is clear
        self.hold.set()
        self.endless_export = False
        self.endless_chat = False
        self.chat_events = []  # instead of an answer
        self.settings = {}
        self.weight_versions = {}
        self.experiments = {}
        self.breaks_after = 0  # so many events the server is gone; 0: it stays
        self.tool_exchanges, self.tool_arguments = 1, '{"day": "friday"}'

    def __enter__(self):
        self._server = grpc.server(
            ThreadPoolExecutor(8, thread_name_prefix=THREAD_NAME),
            options=(
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", 8 * 2**20),
                ("grpc.http2.min_recv_ping_interval_without_data_ms", 30_000),
            ),
        )
        history_pb2_grpc.add_HistoryServiceServicer_to_server(History(self), self._server)
        context_pb2_grpc.add_ContextServiceServicer_to_server(Context(self), self._server)
        admin_pb2_grpc.add_AdminServiceServicer_to_server(Admin(self), self._server)
        feedback_pb2_grpc.add_FeedbackServiceServicer_to_server(Feedback(self), self._server)
        learning_pb2_grpc.add_LearningServiceServicer_to_server(Learning(self), self._server)
        preferences = Preferences(self)
        preference_pb2_grpc.add_PreferenceServiceServicer_to_server(preferences, self._server)
        self.sessions = Sessions(self)
        session_pb2_grpc.add_SessionServiceServicer_to_server(self.sessions, self._server)
        if self._with_health:
            from grpc_health.v1 import health, health_pb2, health_pb2_grpc

            self.health = health.HealthServicer()
            self.health.set("", health_pb2.HealthCheckResponse.SERVING)
            health_pb2_grpc.add_HealthServicer_to_server(self.health, self._server)
        if self._credentials is None:
            port = self._server.add_insecure_port(self._address)
        else:
            port = self._server.add_secure_port(self._address, self._credentials)
        unix = self._address.startswith("unix:")
        self.port = port
        self.address = self._address if unix else f"127.0.0.1:{port}"
        self._server.start()
        return self

    def __exit__(self, *_):
        self._server.stop(None).wait()

    def fail(self, rpc, status, times=1):
        """Answer the next calls of an RPC with a status such as `status_of` makes."""
        self.scripts[rpc].faults.extend([status] * times)

    def slow(self, rpc, delay_s):
        self.scripts[rpc].delay_s = delay_s

    def requests(self, rpc):
        return [seen.request for seen in self.seen if seen.rpc == rpc]

    def arrive(self, rpc, request, context):
        metadata = dict(context.invocation_metadata())
        left = context.time_remaining()
        attempt = int(metadata.get("grpc-previous-rpc-attempts", 0)) + 1
        self.seen.append(Seen(rpc, request, metadata, left, attempt))
        script = self.scripts[rpc]
        if script.delay_s:
            time.sleep(script.delay_s)
        if script.faults:
            self.abort(script.faults.popleft(), context)

    @staticmethod
    def abort(status, context):
        context.abort_with_status(status)

    def append(self, channel, message):
        """Store one message and say what became of it."""
        message.channel = channel
        stored = self.channels[channel]
        result = history_pb2.AppendResult(message_id=message.id)
        if not message.id:
            result.outcome = Outcome.APPEND_OUTCOME_REFUSED
            result.refusal = history_pb2.APPEND_REFUSAL_MISSING_ID
            result.field = "id"
            return result
        if old := self.ids.get((channel, message.id)):
            same = old.message.parts == message.parts
            result.outcome = (
                Outcome.APPEND_OUTCOME_DUPLICATE if same else Outcome.APPEND_OUTCOME_CONFLICT
            )
            result.sequence = old.sequence
            return result
        new = history_pb2.StoredMessage(message=message, sequence=len(stored) + 1)
        stored.append(new)
        self.ids[channel, message.id] = new
        result.outcome = Outcome.APPEND_OUTCOME_STORED
        result.sequence = len(stored)
        return result


REASONS = tuple(
    name.removeprefix("ERROR_REASON_")
    for name in error_pb2.ErrorReason.keys()  # noqa: SIM118  (an enum wrapper, not a dict)
    if not name.endswith("UNSPECIFIED")
)
