"""Adapters for frameworks of chat bots: what a platform tells, as events, and the bridge that stores them.

Each adapter is a module of its own and wants its framework only if it is used. This package and the mappings need
nothing but the client.
"""

from backscroll.adapters.bridge import AsyncBridge, Bridge
from backscroll.adapters.events import Edited, Event, Members, Recalled, Said, read_json

__all__ = [
    "AsyncBridge",
    "Bridge",
    "Edited",
    "Event",
    "Members",
    "Recalled",
    "Said",
    "read_json",
]
