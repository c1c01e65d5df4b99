"""Sources of candidates. Each proposes rows of the channel (or preferences); none decides what is taken."""

from backscroll_sidecar.strategies.base import (
    Empty,
    Messages,
    Preferences,
    SourceFailed,
    Strategy,
    StrategyQuery,
    StrategyResult,
)
from backscroll_sidecar.strategies.builtin import BUILTIN, GivenPreferences, Recent
from backscroll_sidecar.strategies.semantic import Semantic

__all__ = [
    "BUILTIN",
    "Empty",
    "GivenPreferences",
    "Messages",
    "Preferences",
    "Recent",
    "Semantic",
    "SourceFailed",
    "Strategy",
    "StrategyQuery",
    "StrategyResult",
]
