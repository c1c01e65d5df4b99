"""Channels in memory: columns, texts and wire fragments, loaded from the store on demand."""

from backscroll_sidecar.channels.batch import (
    BLANK,
    EVERYBODY,
    HIDDEN,
    LIVE,
    PARTIAL,
    RECALLED,
    WITHHELD,
    shown_id,
)
from backscroll_sidecar.channels.cache import Channels
from backscroll_sidecar.channels.channel import HotChannel
from backscroll_sidecar.channels.lexicon import LexiconView
from backscroll_sidecar.channels.segment_writer import SegmentWriter
from backscroll_sidecar.channels.view import ChannelView

__all__ = [
    "BLANK",
    "EVERYBODY",
    "HIDDEN",
    "LIVE",
    "PARTIAL",
    "RECALLED",
    "WITHHELD",
    "ChannelView",
    "Channels",
    "HotChannel",
    "LexiconView",
    "SegmentWriter",
    "shown_id",
]
