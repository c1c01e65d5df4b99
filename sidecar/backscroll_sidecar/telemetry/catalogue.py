"""Every metric: its name, what it counts in, its labels, what it means. The reference page is made of this."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["counter", "gauge", "histogram", "summary"]
PERIOD = "period"
START, HOUR = "start", "hour"
"""Values of the label `period`: since the server started; the last 60 minutes, the running one included."""


class Metric(NamedTuple):
    """One metric. `unit` is that of its values, `1` for shares. `help` says what is divided by what."""

    name: str
    kind: Kind
    unit: str
    help: str
    labels: tuple[str, ...] = ()

    def sample_name(self, part: str = "") -> str:
        """The name of a sample, whose metric is in several parts or not."""
        return self.name + (part or ("_total" if self.kind == "counter" else ""))


def _average(name: str, unit: str, help: str, *labels: str) -> Metric:  # noqa: A002 - the field's name
    """A number that is of a period, and absent where the period has nothing to make it of."""
    return Metric(f"backscroll_{name}", "gauge", unit, help, (*labels, PERIOD))


def _counter(name: str, unit: str, help: str, *labels: str) -> Metric:  # noqa: A002
    return Metric(f"backscroll_{name}", "counter", unit, help, labels)


def _gauge(name: str, unit: str, help: str, *labels: str) -> Metric:  # noqa: A002
    return Metric(f"backscroll_{name}", "gauge", unit, help, labels)


BUILD_TIME = _average(
    "avg_context_build_time_ms", "ms", "Average time of a build, BuildContext's and chats'."
)
CACHE_HIT_RATE = _average(
    "context_cache_hit_rate", "1", "Builds whose channel was in memory, as a share of all."
)
RELEVANCE = _average(
    "avg_relevance_score",
    "1",
    "Average score, 0 to 1, of the messages shown. Only of builds that ranked by relevance; scores of two profiles do "
    "not compare.",
    "profile",
)
MESSAGE_COUNT = _average(
    "avg_context_message_count", "messages", "Average number of messages that a context shows."
)
TOKEN_SAVINGS = _average(
    "token_savings_rate",
    "1",
    "1 - tokens shown / tokens of the recent window. Shown: the texts of the messages shown, and the summary. The "
    "recent window: the texts of the newest messages that the profile looks at (its source recent or window), from the "
    "newest on as many as fit in what the budget leaves for messages. Below 0: contexts took more than pasting them. "
    "Without builds that did not look at the newest messages.",
)
PER_HOUR = _average(
    "contexts_built_per_hour",
    "contexts/h",
    "Contexts built in the last hour; since the start, by the hours since then, of which there is at least one.",
)
GROUPS = _average(
    "unique_groups_served",
    "channels",
    "Different channels that got a context. Since the start: exact up to 100,000, from there on an estimate with an "
    "error of 0.8 %. Of the last hour no more than 100,000 are told.",
)
SATISFACTION = _average(
    "user_satisfaction_score",
    "1",
    "Average success, 0 to 1, of explicit feedback (RecordFeedback). A rating without one counts evenly from 1 (0) to "
    "5 (1); a text alone does not.",
)
EFFECTIVENESS = _average(
    "context_effectiveness_rate",
    "1",
    "Explicit feedback with a success of 0.5 or more, as a share of all. Each rating of a context counts.",
)
NINE = (
    BUILD_TIME, CACHE_HIT_RATE, RELEVANCE, MESSAGE_COUNT, TOKEN_SAVINGS, PER_HOUR, GROUPS, SATISFACTION, EFFECTIVENESS,
)  # fmt: skip

BUILD_SECONDS = Metric(
    "backscroll_context_build_seconds",
    "histogram",
    "s",
    "Time of builds, BuildContext's and chats'.",
)
STAGE_SECONDS = Metric(
    "backscroll_context_stage_seconds", "summary", "s", "Time of builds by stage.", ("stage",)
)
SCORES = Metric(
    "backscroll_relevance_score",
    "histogram",
    "1",
    "Scores of the messages shown, of builds that ranked by relevance.",
    ("profile",),
)
MESSAGES = _counter("context_messages", "messages", "Messages shown.")
SHARED_MESSAGES = _counter(
    "context_shared_messages",
    "messages",
    "Of these, those of channels that share with the build's.",
)
TEXT_TOKENS = _counter(
    "context_text_tokens",
    "tokens",
    'Tokens behind backscroll_token_savings_rate: of what was shown ("shown") and of the recent window ("window").',
    "of",
)
BUILDS = _counter("context_builds", "contexts", "Contexts, by the rung they stand on.", "rung")
FALLBACKS = _counter(
    "context_fallbacks",
    "contexts",
    "Contexts on a lower rung, by what led there.",
    "rung",
    "reason",
)
DEGRADATIONS = _counter(
    "context_degradations", "parts", "What contexts do without.", "stage", "source", "reason"
)
EXPLORED = _counter("context_builds_explored", "contexts", "Contexts whose last places were drawn.")
TUNINGS = _counter(
    "weight_tunings",
    "tunings",
    "Tunings of channels' weights, by the rule that decided: adopted, rolled_back, kept, or why nothing changed.",
    "reason",
)
BUILD_ERRORS = _counter("context_build_errors", "builds", "Builds that gave no context.", "reason")
CACHE_REQUESTS = _counter(
    "context_cache_requests", "builds", "Hits: builds whose channel was in memory.", "result"
)
FEATURE_REQUESTS = _counter(
    "feature_cache_requests", "texts", "Hits: texts whose features were known.", "result"
)
FEATURE_HIT_RATE = _average(
    "feature_cache_hit_rate",
    "1",
    "Texts whose features were known, as a share of all.",
)
TOKEN_RATIO = _average(
    "token_count_ratio",
    "1",
    "Tokens of requests by the count of the model's vendor / by ours. Of the first call of each turn without pictures, "
    "where the vendor told its count. Of the 33rd model on all together.",
    "model",
    "tokenizer",
)
TOKEN_ERROR = _average(
    "token_count_error",
    "1",
    "Average of abs(our count - the vendor's) / the vendor's, of the same calls: as we count (plain), and times the "
    "factor known before the call (calibrated).",
    "model",
    "tokenizer",
    "counts",
)
TOKEN_FACTOR = _gauge(
    "token_calibration_factor",
    "1",
    "The vendor's tokens for one of ours, learnt from about the last 50 of these calls, in steps of 0.01 between 0.8 "
    "and 1.25; with calibrate_tokens budgets are divided by it.",
    "model",
    "tokenizer",
)
MODEL_TOKENS = _counter(
    "model_tokens",
    "tokens",
    "Tokens of the same calls: of requests by our count (counted) and the vendor's (prompt), and of answers "
    "(completion).",
    "model",
    "tokenizer",
    "of",
)
QUEUE_ITEMS = _gauge(
    "writer_queue_items", "items", "Messages, members and events that wait for their commit."
)
QUEUE_BYTES = _gauge("writer_queue_bytes", "bytes", "What they take in memory, about.")
DROPPED_EVENTS = _counter(
    "dropped_events",
    "events",
    "Events that were not recorded: the queue was full, or the store failed.",
)
PUBLISH_FAILURES = _counter(
    "publish_failures", "commits", "Commits that a reader in memory was not told of, by an error."
)
RECORD_QUEUE = _gauge(
    "usage_queue_records", "records", "Builds whose usage record waits to be handed to the writer."
)
RECORDS = _counter("usage_records", "records", "Builds that were to be recorded.")
DROPPED_RECORDS = _counter(
    "dropped_usage_records",
    "records",
    "Of these, those that were not: too many waited, something failed, or MEMORY_ENABLE_ASYNC_DATA_COLLECTION is off.",
)
BACKLOG = _gauge(
    "embedding_backlog_channels", "channels", "Channels with messages that wait for their vector."
)
EMBEDDED = _counter("embedded_messages", "messages", "Messages that were given a vector.")
REFUSED_EMBEDDINGS = _gauge(
    "refused_embeddings",
    "messages",
    "Messages that the embedder refused since the start; the last 100,000.",
)
EXPERIMENT_BUILDS = _counter(
    "experiment_builds",
    "builds",
    "Builds of channels in an experiment, by its arm. Without an arm: the request said itself what the arms set. "
    "Beyond 64 pairs of experiment and arm they are counted without names.",
    "experiment",
    "arm",
)
SAMPLE_RATIO = _gauge(
    "experiment_sample_ratio_probability",
    "1",
    "Probability that chance alone puts the channels that built since the start so far from the arms' weights. Below "
    ".001 the assignment is not to be trusted.",
    "experiment",
)
SHADOW_BUILDS = _counter(
    "experiment_shadow_builds",
    "builds",
    "Builds behind the answers: built, dropped because the server was busy, or failed.",
    "outcome",
)
MISSED_DEADLINES = _counter(
    "missed_deadlines", "calls", "Calls that were not answered in their caller's time.", "method"
)
UNSTORED_TURNS = _counter(
    "unstored_turns",
    "turns",
    "Turns of chats whose answer was given, and of which something could not be stored, by reason.",
    "reason",
)
PERIOD_SUMMARIES = _counter(
    "period_summaries", "summaries", "Summaries of past periods that were made, by kind.", "kind"
)
DAMAGED_SEGMENTS = _counter(
    "damaged_segments",
    "loads",
    "Loads of a channel that met a damaged segment and read rows instead.",
)
EXPIRED_MESSAGES = _counter(
    "expired_messages", "messages", "Messages erased because they were too old or too many."
)

CATALOGUE = (
    *NINE, BUILD_SECONDS, STAGE_SECONDS, SCORES, MESSAGES, SHARED_MESSAGES, TEXT_TOKENS, BUILDS, FALLBACKS,
    DEGRADATIONS, BUILD_ERRORS, EXPLORED, TUNINGS,
    CACHE_REQUESTS, FEATURE_REQUESTS, FEATURE_HIT_RATE, TOKEN_RATIO, TOKEN_ERROR, TOKEN_FACTOR, MODEL_TOKENS,
    QUEUE_ITEMS, QUEUE_BYTES, DROPPED_EVENTS, PUBLISH_FAILURES, RECORD_QUEUE, RECORDS, DROPPED_RECORDS,
    BACKLOG, EMBEDDED, REFUSED_EMBEDDINGS, EXPERIMENT_BUILDS, SAMPLE_RATIO, SHADOW_BUILDS, MISSED_DEADLINES,
    UNSTORED_TURNS, PERIOD_SUMMARIES, DAMAGED_SEGMENTS, EXPIRED_MESSAGES,
)  # fmt: skip
"""In the order in which they are told."""
