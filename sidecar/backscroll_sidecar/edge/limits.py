"""Every bound of the edge, in one place. Sizes are bytes of UTF-8 unless the name says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from backscroll_sidecar.domain import (
    MAX_BATCH_BYTES,
    MAX_BATCH_ITEMS,
    MAX_DIMENSIONS,
    MAX_ID_BYTES,
    MAX_QUERY_BYTES,
    MAX_SEARCH_HITS,
    MAX_TEXT_BYTES,
)

KIB = 1024
MIB = 1024 * KIB

__all__ = [
    "MAX_BATCH_BYTES",
    "MAX_BATCH_ITEMS",
    "MAX_DIMENSIONS",
    "MAX_ID_BYTES",
    "MAX_QUERY_BYTES",
    "MAX_SEARCH_HITS",
    "MAX_TEXT_BYTES",
]

# --- requests --------------------------------------------------------------------------------------

MAX_RECEIVE_BYTES = 8 * MIB
"""What gRPC itself takes; above, its own RESOURCE_EXHAUSTED answers."""
MAX_TIME_MS = 253_402_214_399_999
"""A day before the year 10000, so that a calendar of any time zone can still show it."""
MAX_NAME_BYTES = 512
MAX_TOOLS_BYTES = 256 * KIB
MAX_EXTRA_BODY_BYTES = 64 * KIB
MAX_TOTAL_TEXT_BYTES = 256 * KIB
"""All texts of a build request that end up in the prompt, tools aside."""
MAX_PREFERENCES = 1_000
MAX_FOCUS_BYTES = 2_000
MAX_PREFERENCE_BYTES = 2_000
MAX_PREFERENCE_ID_BYTES = 128
MAX_PREFERENCE_TOPIC_BYTES = 64
MAX_PREFERENCE_VALUE_BYTES = 500
MAX_FEEDBACK_BYTES = 4_000
MAX_LABELLED_MESSAGES = 1_000
MAX_PARAMETERS = 100
MAX_PARTS = 1_000
MAX_MENTIONS = 1_000
MAX_EMBEDDINGS = 32
MAX_SELF_IDS = 100
MAX_SOURCES = 28
MAX_ALLOWED_AUTHORS = 1_000
MAX_PAYLOAD_FORMATS = 16
MAX_PICTURES_BYTES = 3 * MIB
"""An answer may have them in four payloads, and clients take 16 MiB."""
MAX_OMITTED = 16
MAX_LANGUAGE_BYTES = 64
MAX_ALIASES = 100
MAX_TIME_ZONE_BYTES = 128
MAX_LABEL_BYTES = 1 * KIB
MAX_PAGE_TOKEN_BYTES = 1 * KIB
DEFAULT_WAIT_FOR_INDEX_MS = 10_000
MAX_WAIT_FOR_INDEX_MS = 600_000

# --- answers ---------------------------------------------------------------------------------------

MAX_PAGE_ITEMS = 1_000
DEFAULT_PAGE_ITEMS = 100
DEFAULT_SEARCH_HITS = 20
MAX_EXPORT_ITEMS = 500
MAX_ANSWER_BYTES = 3 * MIB
"""Pages and runs end here: gRPC clients refuse answers above 4 MiB unless told otherwise."""
MAX_IMPORT_PROBLEMS = 100
MAX_ERROR_TEXT_BYTES = 512
MAX_ERROR_DETAILS_BYTES = 4 * KIB
"""Text and details travel in headers of 8 KiB together, percent-encoded and in base 64."""


STREAMS_PER_PLACE = 4
"""So many streams of a method a tenant may have open for each that runs."""


@dataclass(frozen=True, slots=True)
class AdmissionLimits:
    """How many calls of one method run at once, how many more may wait, for how long, and how large the requests of
    all of them may be together. A batch takes some five times its size until it is stored.
    """

    running: int
    waiting: int
    wait_s: float = 2.0
    max_bytes: int = 64 * MIB

    @property
    def most_streams(self) -> int:
        """Streams that one tenant may have open: one that waits for its caller takes no place, but memory."""
        return STREAMS_PER_PLACE * self.running


DEFAULT_ADMISSION = AdmissionLimits(128, 1_024)
UNBOUNDED = AdmissionLimits(10**9, 0, max_bytes=10**15)
ADMISSIONS: Mapping[str, AdmissionLimits] = {
    "BuildContext": AdmissionLimits(256, 4_096),
    "AppendMessages": AdmissionLimits(1_024, 4_096),
    "ImportMessages": AdmissionLimits(16, 64),
    "ExportMessages": AdmissionLimits(16, 64),
    "ExportUsageRecords": AdmissionLimits(4, 16),
    "ReplayBuilds": AdmissionLimits(2, 8),
    "WaitForIndex": AdmissionLimits(1_024, 0),
    "Erase": AdmissionLimits(8, 64),
    "TuneChannel": AdmissionLimits(1, 64, wait_s=60.0),
    "GetExperimentReport": AdmissionLimits(1, 16, wait_s=60.0),
    "StreamChat": AdmissionLimits(10_000, 1_000, max_bytes=512 * MIB),
    "Chat": AdmissionLimits(10_000, 1_000, max_bytes=512 * MIB),
    "ChatCompletions": AdmissionLimits(10_000, 1_000, max_bytes=512 * MIB),
    "StartRound": AdmissionLimits(10_000, 1_000, max_bytes=512 * MIB),
    "ResumeRound": AdmissionLimits(10_000, 1_000, max_bytes=512 * MIB),
    "ImportSession": AdmissionLimits(16, 64),
    "ExportSession": AdmissionLimits(16, 64),
}
"""By method name; what is not named has `DEFAULT_ADMISSION`."""
MAX_EVENT_TYPES = 100
MAX_ARMS = 20
MAX_ARM_NAME_BYTES = 64
MAX_EXPERIMENT_ID_BYTES = 128
MAX_LISTED_CHANNELS = 1_000
MAX_METRIC_NAMES = 100
MAX_REQUESTED_BY_BYTES = 256
