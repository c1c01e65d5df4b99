"""The rows of the table, as data: what is measured, in what unit, where the gate and the goal stand.

A part (`parts.PARTS`) measures one thing and gives one reading or several; each row names its part and the reading.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Better: TypeAlias = Literal["lower", "higher"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    name : short, stable, what the command line and the file of SLOs call it.
    part, reading : who measures it, and which of its readings it is.
    what : one sentence for people.
    unit : "x R0", "x", "of R0", "ms", "s", "µs", "share", "1/s", "B".
    gate, goal : below the gate the work is not done; the goal is the record to beat. None: only told.
    better : on which side of them the value should lie.
    """

    name: str
    part: str
    reading: str
    what: str
    unit: str
    gate: float | None
    goal: float | None
    better: Better = "lower"

    def holds(self, value: float) -> bool | None:
        """Whether the value is on the right side of the gate."""
        return _is_within(value, self.gate, self.better)

    def reaches(self, value: float) -> bool | None:
        """Whether the value is on the right side of the goal."""
        return _is_within(value, self.goal, self.better)


def _is_within(value: float, bound: float | None, better: Better) -> bool | None:
    if bound is None:
        return None
    return value <= bound if better == "lower" else value >= bound


ROWS: tuple[Row, ...] = (
    Row("balanced-10k", "balanced-10k", "p50",
        "BuildContext, balanced, about the last lines, 10,000 messages, c=1",
        "x R0", 2.0, 1.5),
    Row("balanced-10k-stages", "balanced-10k", "stages",
        "balanced-10k: its stages in the server, parsing and encoding included",
        "µs", None, None),
    Row("balanced-10k-p99", "balanced-10k", "p99",
        "balanced-10k, p99 against R0's p99",
        "x R0", None, None),
    Row("balanced-10k-moved", "balanced-10k-moved", "p50",
        "balanced-10k by default settings: the system moves the event loop from core to core (R0's is kept)",
        "x R0", None, None),
    Row("balanced-10k-moved-p99", "balanced-10k-moved", "p99",
        "balanced-10k-moved, p99 against R0's p99",
        "x R0", None, None),
    Row("balanced-10k-grpc", "balanced-10k-grpc", "p50",
        "balanced-10k through gRPC's own server (edge = grpc), as on addresses with TLS",
        "x R0", None, None),
    Row("balanced-c64-grpc", "balanced-c64-grpc", "rate",
        "balanced-c64 through gRPC's own server",
        "of R0", None, None, "higher"),
    Row("balanced-1k", "balanced-1k", "p50",
        "BuildContext, balanced, about the last lines, 1,000 messages, c=1",
        "x R0", 1.9, 1.45),
    Row("balanced-100k", "balanced-100k", "p50",
        "BuildContext, balanced, about the last lines, 100,000 messages, c=1",
        "x R0", 2.7, 1.9),
    Row("lived-in-10k", "lived-in-10k", "p50",
        "balanced-10k on a channel with a recall, an edit, tool exchanges and replies",
        "x R0", None, None),
    Row("lived-in-cut-10k", "lived-in-cut-10k", "p50",
        "lived-in-10k cut to 1,000 tokens, with one preference of the asker",
        "x R0", None, None),
    Row("summary-10k", "summary-10k", "p50",
        "lived-in-10k with a summary, against it without",
        "x", 1.15, 1.05),
    Row("steady-10k", "steady-10k", "p50",
        "balanced-10k by the profile steady, 16,384 tokens",
        "x R0", None, None),
    Row("explain-10k", "explain-10k", "p50",
        "balanced-10k with explain",
        "x R0", None, None),
    Row("balanced-c64", "balanced-c64", "rate",
        "throughput of balanced at c=64, 10,000 messages",
        "of R0", 0.5, 0.65, "higher"),
    Row("vector-10k", "vector-10k", "p50",
        "BuildContext, balanced, a 512-d query vector given and used, 10,000 messages, c=1",
        "x R0", 2.5, 1.8),
    Row("vector-10k-stages", "vector-10k", "stages",
        "vector-10k: its stages in the server, parsing and encoding included",
        "µs", None, None),
    Row("vector-1k", "vector-1k", "p50",
        "BuildContext, balanced, a 512-d query vector given and used, 1,000 messages, c=1",
        "x R0", 2.1, 1.65),
    Row("vector-100k", "vector-100k", "p50",
        "BuildContext, balanced, a 512-d query vector given and used, 100,000 messages, c=1",
        "x R0", 5.5, 3.5),
    Row("vector-c64", "vector-c64", "rate",
        "throughput of balanced with a query vector at c=64, 10,000 messages",
        "of R0", 0.3, 0.55, "higher"),
    Row("long-ago-text", "long-ago-text", "p50",
        "BuildContext, balanced, about long ago, as text, 10,000 messages, against R0 + the bare embedder",
        "x", 1.5, 1.2),
    Row("classic-10k", "classic-10k", "p50",
        "BuildContext, the classic formula over all 10,000 messages (classic_full), c=1",
        "x R0", 1.75, 1.4),
    Row("classic-10k-stages", "classic-10k", "stages",
        "classic-10k: its stages in the server, parsing and encoding included",
        "µs", 170, 95),
    Row("classic-10k-p99", "classic-10k", "p99",
        "classic-10k, p99 against R0's p99",
        "x R0", 1.8, 1.4),
    Row("classic-10k-c8", "classic-10k-c8", "p50",
        "BuildContext, the classic formula over all 10,000 messages (classic_full), c=8",
        "x R0", 1.8, 1.45),
    Row("classic-c64", "classic-c64", "rate",
        "throughput of classic_full at c=64, 10,000 messages",
        "of R0", 0.55, 0.7, "higher"),
    Row("classic-window-10k", "classic-window-10k", "p50",
        "BuildContext, classic as it is (a window of 50 messages), 10,000 messages, c=1",
        "x R0", None, None),
    Row("fresh-10k", "fresh-10k", "p50",
        "BuildContext, balanced, each question once, 12 lines and a moment of quiet after the last, 10,000 messages",
        "x R0", None, None),
    Row("cold-10k", "cold-10k", "first",
        "first hit on a cold channel of 10,000 messages",
        "ms", 15, 5),
    Row("rooms-1m", "rooms-1m", "p50",
        "BuildContext, balanced, 1,000,000 messages in 100 channels, a random one each time, c=1",
        "x R0", 2.5, 1.8),
    Row("rooms-1m-cold", "rooms-1m", "cold",
        "rooms-1m: builds whose channel was not in memory",
        "share", None, None),
    Row("vector-1m", "vector-1m", "p50",
        "BuildContext, balanced, about long ago, a vector given, one channel of 1,000,000 messages, against 10,000",
        "x", 2.0, 1.3),
    Row("append-50-graph", "vector-1m", "append",
        "AppendMessages, 50 a call, c=16, while the graph over 1,000,000 vectors is made, messages a second",
        "1/s", 10_000, None, "higher"),
    Row("long-ago-1m", "long-ago-1m", "p50",
        "the same as text, embedded by the server",
        "x", 2.0, 1.3),
    Row("kernel-1m", "kernel-1m", "bandwidth",
        "who of 1,000,000 rows reaches classic's threshold, scored exactly: bytes read a second, against one thread's"
        " read bandwidth",
        "share", 0.5, 0.8, "higher"),
    Row("kernel-1m-every", "kernel-1m", "every",
        "the five factors of every one of 1,000,000 rows, against the same",
        "share", None, None, "higher"),
    Row("kernel-python", "kernel-python", "speedup",
        "who of 10,000 rows reaches classic's threshold, scored exactly, against per-pair Python over all",
        "x", 1_000, 3_000, "higher"),
    Row("kernel-python-every", "kernel-python", "every",
        "the five factors of every one of 10,000 rows, against the same",
        "x", None, None, "higher"),
    Row("kernel-numpy", "kernel-numpy", "speedup",
        "who of 10,000 rows reaches classic's threshold, scored exactly, against NumPy over all",
        "x", 5, 10, "higher"),
    Row("kernel-numpy-every", "kernel-numpy", "every",
        "the five factors of every one of 10,000 rows, against the same",
        "x", None, None, "higher"),
    Row("round", "rounds", "own",
        "A round with one persona of 20, its build, model call and commits aside, in one process",
        "ms", 2.0, 1.0),
    Row("route", "rounds", "route",
        "Routing a message of 150 characters with three mentions among 20 participants",
        "µs", 100.0, 50.0),
    Row("assembly", "assembly", "speedup",
        "writing an answer of 20 messages, items and OpenAI JSON, against message objects and json.dumps",
        "x", 5, 10, "higher"),
    Row("semantic-10k", "semantic-10k", "ratio",
        "top 20 by meaning of 10,000 messages, recall at least .98, against hnswlib",
        "x", 0.5, 0.25),
    Row("semantic-30k", "semantic-30k", "ratio",
        "top 20 by meaning of 30,000 messages, recall at least .98, against hnswlib",
        "x", 0.8, 0.45),
    Row("semantic-100k", "semantic-100k", "ratio",
        "top 20 by meaning of 100,000 messages, recall at least .98, against hnswlib",
        "x", 1.2, 1.0),
    Row("semantic-filtered", "semantic-filtered", "speedup",
        "top 20 by meaning of a tenth of 10,000 messages, against hnswlib's filter callback",
        "x", 5, 10, "higher"),
    Row("append-50", "append-50", "ratio",
        "AppendMessages, 50 a call, c=16, against executemany of the same rows, 50 a transaction",
        "x", 0.12, 0.22, "higher"),
    Row("append-50-rate", "append-50", "rate",
        "AppendMessages, 50 a call, c=16, messages a second",
        "1/s", 10_000, None, "higher"),
    Row("append-single-normal", "append-single-normal", "ratio",
        "single messages, c=16, durability normal, against R0's calls a second",
        "of R0", 0.6, 0.75, "higher"),
    Row("append-single-full", "append-single-full", "ratio",
        "single messages, c=16, durability full, against R0's calls a second",
        "of R0", 0.6, 0.8, "higher"),
    Row("first-delta", "first-delta", "p50",
        "StreamChat, first delta after a model of 0 ms",
        "ms", 20, 8),
    Row("gateway-first-delta", "gateway-first-delta", "later",
        "Chat Completions over HTTP: how much later the first delta is than StreamChat's, by turns",
        "ms", 1.5, 1.0),
    Row("delta", "delta", "ratio",
        "StreamChat, a model that says something every 2 ms: a delta's way to the caller, against a bare relay",
        "x", 1.3, 1.1),
    Row("delta-burst", "delta-burst", "ratio",
        "StreamChat, a model as fast as it is read: time a delta, against a bare relay",
        "x", 1.3, 1.1),
    Row("ingest-p99", "ingest-p99", "ratio",
        "BuildContext p99 while 8,000 messages a second come in, against its idle p99",
        "x", 8, 4),
    Row("recording", "recording", "p50",
        "balanced-10k on a server that records builds, against one that does not",
        "x", 1.05, 1.02),
    Row("recording-p99", "recording", "p99",
        "recording, p99",
        "x", None, None),
    Row("recording-c64", "recording-c64", "rate",
        "throughput of recording at c=64, against one that does not record",
        "x", 0.9, 0.95, "higher"),
    Row("sink-slow", "sink-slow", "p50",
        "recording, where the sink of records takes 50 ms a write",
        "x", 1.05, 1.02),
    Row("sink-slow-p99", "sink-slow", "p99",
        "sink-slow, p99",
        "x", 1.25, 1.1),
    Row("sink-blocked", "sink-blocked", "p50",
        "recording, where the sink of records is blocked and full",
        "x", 1.05, 1.02),
    Row("sink-blocked-p99", "sink-blocked", "p99",
        "sink-blocked, p99",
        "x", 1.25, 1.1),
    Row("sink-dead", "sink-dead", "p50",
        "recording, where the sink of records fails",
        "x", 1.05, 1.02),
    Row("sink-dead-p99", "sink-dead", "p99",
        "sink-dead, p99",
        "x", 1.25, 1.1),
    Row("start", "start", "serving",
        "start of the process to SERVING, kernels compiled before",
        "s", 4, 2.5),
    Row("first-build", "start", "first_build",
        "first build after a start, on a channel of 1,000 messages in the database, against the steady ones",
        "x", 5, 2),
    Row("memory", "memory", "bytes",
        "memory a message of a hot channel, its body aside, no vectors",
        "B", 512, 205),
    Row("memory-vectors", "memory-vectors", "bytes",
        "memory a message of a hot channel with a vector of 512 numbers, its body aside",
        "B", 1_536, 819),
    Row("peer-mem0-qdrant", "peer-mem0-qdrant", "speedup",
        "mem0 over a local Qdrant, in process, 10,000 messages, against a build over gRPC",
        "x", 1, 150, "higher"),
    Row("peer-chromadb", "peer-chromadb", "speedup",
        "chromadb with a filter, in process, 10,000 messages, against a build over gRPC",
        "x", 1, 50, "higher"),
    Row("peer-langgraph", "peer-langgraph", "speedup",
        "LangGraph's SqliteStore, in process, 10,000 messages, against a build over gRPC",
        "x", 1, 25, "higher"),
    Row("peer-mem0-faiss", "peer-mem0-faiss", "speedup",
        "mem0 over faiss, in process, 10,000 messages, against a build over gRPC",
        "x", 1, 2.5, "higher"),
)  # fmt: skip
"""In the order they are measured and shown."""


def find_rows(names: tuple[str, ...]) -> tuple[Row, ...]:
    """The named rows in the table's order; no names: all. Raises `KeyError` with the first unknown name."""
    known = {row.name for row in ROWS}
    for name in names:
        if name not in known:
            raise KeyError(name)
    return tuple(row for row in ROWS if not names or row.name in names)
