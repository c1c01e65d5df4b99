"""Sources of candidates. Each proposes rows of the channel, or preferences; ranking decides."""

from backscroll_sidecar.strategies.base import (
    NOTHING,
    Empty,
    Messages,
    Preferences,
    SourceFailed,
    Strategy,
    StrategyQuery,
    StrategyResult,
)
from backscroll_sidecar.strategies.builtin import (
    BUILTIN,
    Chain,
    GivenPreferences,
    Recent,
    Thread,
    newest_live_rows,
)
from backscroll_sidecar.strategies.people import Pinned
from backscroll_sidecar.strategies.semantic import Semantic

__all__ = [
    "BUILTIN",
    "NOTHING",
    "Chain",
    "Empty",
    "GivenPreferences",
    "Messages",
    "Pinned",
    "Preferences",
    "Recent",
    "Semantic",
    "SourceFailed",
    "Strategy",
    "StrategyQuery",
    "StrategyResult",
    "Thread",
    "newest_live_rows",
]
