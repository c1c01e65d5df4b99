"""The quality bench: how much of what a question is about does each profile find, on chats with marked answers."""

from backscroll_bench.quality.data import ChatSet, find_set, read_set
from backscroll_bench.quality.live import lived
from backscroll_bench.quality.mixing import mixed
from backscroll_bench.quality.own import Own, read_own
from backscroll_bench.quality.page import PUBLISHED_PROFILES, page, published
from backscroll_bench.quality.rows import DataError
from backscroll_bench.quality.run import LiveServer, Misjudged, judge
from backscroll_bench.quality.shipped import SHIPPED, WITH_TALK, shipped_sets
from backscroll_bench.quality.summary import Report, summarise
from backscroll_bench.quality.variants import fewer_names, linked, paused

__all__ = [
    "PUBLISHED_PROFILES",
    "SHIPPED",
    "WITH_TALK",
    "ChatSet",
    "DataError",
    "LiveServer",
    "Misjudged",
    "Own",
    "Report",
    "fewer_names",
    "find_set",
    "judge",
    "linked",
    "lived",
    "mixed",
    "page",
    "paused",
    "published",
    "read_own",
    "read_set",
    "shipped_sets",
    "summarise",
]
