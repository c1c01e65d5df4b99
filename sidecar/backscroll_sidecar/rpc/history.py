"""HistoryService at the edge: translate, ask `HistoryService`, translate."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from backscroll.v1 import history_pb2 as pb

from backscroll_sidecar.domain import ChannelKey, StoredMessage
from backscroll_sidecar.history.ingest import LoopSlices
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.rpc.batches import ImportSource, append_batch
from backscroll_sidecar.rpc.checks import check_range, check_text, check_time, missing, required_id
from backscroll_sidecar.rpc.codec import encode_stored
from backscroll_sidecar.rpc.guard import Call
from backscroll_sidecar.rpc.lenient import Batch, parse_batch
from backscroll_sidecar.rpc.limits import (
    DEFAULT_SEARCH_HITS,
    MAX_PAGE_ITEMS,
    MAX_QUERY_BYTES,
    MAX_SEARCH_HITS,
    MAX_WAIT_FOR_INDEX_MS,
)
from backscroll_sidecar.rpc.pages import Page, RunWriter, fill, read_page
from backscroll_sidecar.rpc.translate_history import (
    channel_to_proto,
    check_erase,
    check_list,
    import_to_proto,
    limit_of,
    member_to_proto,
    members_from_proto,
    receipt_to_proto,
    result_to_proto,
    root_of,
)
from backscroll_sidecar.rpc.translate_messages import mentions_from_proto, parts_from_proto
