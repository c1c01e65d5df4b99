"""How a model's end becomes ours (law 8, S5-31, S5-32). Pure."""

from __future__ import annotations

from dataclasses import dataclass

from backscroll_sidecar.chat.events import EndReason, Notice
from backscroll_sidecar.domain import CONTENT_FILTER_NOTICE, ERROR_PREFIX, LENGTH_NOTICE
from backscroll_sidecar.ports import FinishReason, ModelError


@dataclass(frozen=True, slots=True)
class Notices:
    """The texts shown behind a reply that was cut or stopped, and before an error's; empty: none (S5-31, S5-32)."""

    length: str = LENGTH_NOTICE
    content_filter: str = CONTENT_FILTER_NOTICE
    error_prefix: str = ERROR_PREFIX


NOTICES = Notices()


@dataclass(frozen=True, slots=True)
class Ending:
    """Why the stream ends, what is shown, and whether what came so far is the whole reply."""

    reason: EndReason
    notice: Notice | None = None
    is_whole: bool = True


def ending_of(finish: FinishReason, notices: Notices, *, missing_is_complete: bool) -> Ending:
    """The ending for a stream that ended by itself."""
    match finish:
        case FinishReason.STOP | FinishReason.UNKNOWN:
            return Ending(EndReason.COMPLETE)
        case FinishReason.LENGTH:
            return Ending(EndReason.LENGTH, notice_of(EndReason.LENGTH, notices))
        case FinishReason.CONTENT_FILTER:
            reason = EndReason.CONTENT_FILTER
            return Ending(reason, notice_of(reason, notices))
        case FinishReason.TOOL_CALLS:
            return Ending(EndReason.TOOL_CALLS)
        case FinishReason.INTERRUPTED:
            return Ending(EndReason.INCOMPLETE, is_whole=False)
        case FinishReason.NONE:
            if missing_is_complete:
                return Ending(EndReason.COMPLETE)
            return Ending(EndReason.INCOMPLETE, is_whole=False)


def error_text(error: ModelError, notices: Notices) -> str:
    """What the caller may show of a failed model call."""
    return notices.error_prefix + error.safe_reason


def notice_of(reason: EndReason, notices: Notices) -> Notice | None:
    """What is shown behind a reply that ended for this reason."""
    texts = {EndReason.LENGTH: notices.length, EndReason.CONTENT_FILTER: notices.content_filter}
    text = texts.get(reason)
    return Notice(text, reason) if text else None
