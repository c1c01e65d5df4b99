"""Sources of candidates. Each proposes rows of the channel (or preferences); none decides what is taken."""

from backscroll_sidecar.strategies.base import (
    Empty,
    Messages,
    Preferences,
    Strategy,
    StrategyQuery,
    StrategyResult,
)
from backscroll_sidecar.strategies.builtin import BUILTIN, GivenPreferences, Recent

__all__ = [
    "BUILTIN",
    "Empty",
    "GivenPreferences",
    "Messages",
    "Preferences",
    "Recent",
    "Strategy",
    "StrategyQuery",
    "StrategyResult",
]
