"""The panels of the dashboard, of the recording rules and of `backscroll plot`. Pure."""

from __future__ import annotations

from typing import Literal, NamedTuple

from backscroll_sidecar.telemetry.expressions import (
    Buckets,
    Expression,
    Gauge,
    Quantile,
    Rate,
    Ratio,
    Sum,
    Where,
)

SERIES = "series"
"""The label that tells a panel's series apart."""


class Series(NamedTuple):
    """One line of a panel, or, with an expression by a label, one for each of its values."""

    name: str
    expression: Expression

    @property
    def promql(self) -> str:
        """With its name in the label `series`."""
        by = self.expression.by
        value, label, pattern = ("$1", by, "(.*)") if by else (self.name, "", "")
        return f'label_replace({self.expression.promql}, "{SERIES}", "{value}", "{label}", "{pattern}")'


class Panel(NamedTuple):
    """One panel. `unit`: s, 1 (a share), score (0 to 1), or a word; `kind`: over time, the ranges of a histogram, or as
    it is now.
    """

    name: str
    title: str
    says: str
    unit: str
    series: tuple[Series, ...]
    kind: Literal["lines", "ranges", "now"] = "lines"

    @property
    def rule(self) -> str:
        """The name that its series are recorded under."""
        return f"backscroll:{self.name}"

    @property
    def promql(self) -> str:
        """All its series."""
        return "\nor ".join(one.promql for one in self.series)


_HOUR = (Where("period", "hour"),)
_BUILDS, _ERRORS = (
    Sum("backscroll_context_builds_total"),
    Sum("backscroll_context_build_errors_total"),
)
_SECONDS = "backscroll_context_build_seconds"
_STAGES = "backscroll_context_stage_seconds"
_SCORES = "backscroll_relevance_score"
_REQUESTS = "backscroll_context_cache_requests_total"
_TOKENS = "backscroll_context_text_tokens_total"

PANELS = (
    Panel(
        "contexts_per_minute",
        "Contexts",
        "Contexts built a minute, by the rung they stand on: ranked, the last messages (recent), nothing (empty).",
        "contexts/min",
        (Series("", Rate(Sum("backscroll_context_builds_total", "rung"))),),
    ),
    Panel(
        "build_time",
        "Build time",
        "How long a build takes: on average, and for the slowest of twenty.",
        "s",
        (
            Series("average", Ratio(Sum(f"{_SECONDS}_sum"), (Sum(f"{_SECONDS}_count"),))),
            Series("95 %", Quantile(_SECONDS, 0.95)),
        ),
    ),
    Panel(
        "stage_time",
        "Build time by stage",
        "Where the time of a build goes.",
        "s",
        (Series("", Ratio(Sum(f"{_STAGES}_sum", "stage"), (Sum(f"{_STAGES}_count", "stage"),))),),
    ),
    Panel(
        "errors_and_fallbacks",
        "Errors and fallbacks",
        "Builds that gave no context, and contexts on a lower rung, as shares.",
        "1",
        (
            Series("errors", Ratio(_ERRORS, (_BUILDS, _ERRORS))),
            Series(
                "fallbacks",
                Ratio(
                    Sum("backscroll_context_builds_total", where=Where("rung", "ranked", is_equal=False)),
                    (_BUILDS,),
                ),
            ),
        ),
    ),
    Panel(
        "token_savings",
        "Token savings",
        "What contexts save beside pasting the recent window.",
        "1",
        (
            Series(
                "saved",
                Ratio(
                    Sum(_TOKENS, where=Where("of", "shown")),
                    (Sum(_TOKENS, where=Where("of", "window")),),
                    saved=True,
                ),
            ),
        ),
    ),
    Panel(
        "score_distribution",
        "Relevance scores",
        "Messages shown in the last hour, by their scores up to each bound.",
        "messages",
        (Series("", Buckets(_SCORES)),),
        "ranges",
    ),
    Panel(
        "relevance",
        "Average relevance",
        "Average score of the messages shown, by profile. Scores of two profiles do not compare.",
        "score",
        (
            Series(
                "",
                Ratio(Sum(f"{_SCORES}_sum", "profile"), (Sum(f"{_SCORES}_count", "profile"),)),
            ),
        ),
    ),
    Panel(
        "cache_hits",
        "Channels in memory",
        "Builds whose channel was in memory, as a share.",
        "1",
        (
            Series(
                "hits",
                Ratio(Sum(_REQUESTS, where=Where("result", "hit")), (Sum(_REQUESTS),)),
            ),
        ),
    ),
    Panel(
        "feedback",
        "Feedback of the last hour",
        "Average success that people gave contexts, and the share of contexts with 0.5 or more.",
        "1",
        (
            Series("satisfaction", Gauge("backscroll_user_satisfaction_score", where=_HOUR)),
            Series("effective", Gauge("backscroll_context_effectiveness_rate", where=_HOUR)),
        ),
        "now",
    ),
    Panel(
        "token_count_error",
        "Error of token counts",
        "How far our token counts were from those of each model's vendor in the last hour.",
        "1",
        (
            Series(
                "",
                Gauge(
                    "backscroll_token_count_error", "model", (*_HOUR, Where("counts", "plain"))
                ),
            ),
        ),
        "now",
    ),
    Panel(
        "queues",
        "Queues",
        "Rows that wait for their commit, and channels with messages that wait for their vector.",
        "items",
        (
            Series("writer", Gauge("backscroll_writer_queue_items")),
            Series("embedding", Gauge("backscroll_embedding_backlog_channels")),
        ),
        "now",
    ),
)  # fmt: skip
