"""From a model's finish reason to the end of a chat stream. Pure."""

from dataclasses import dataclass

from backscroll_sidecar.chat.events import EndReason, Notice
from backscroll_sidecar.ports import FinishReason, ModelError
from backscroll_sidecar.texts import Texts


@dataclass(frozen=True, slots=True)
class Ending:
    """Why the stream ends, the notice for it, and whether the reply is whole."""

    reason: EndReason
    notice: Notice | None = None
    is_whole: bool = True


def ending_of(finish: FinishReason, texts: Texts, *, missing_is_complete: bool) -> Ending:
    """The ending of a stream that the model finished."""
    match finish:
        case FinishReason.STOP | FinishReason.UNKNOWN:
            return Ending(EndReason.COMPLETE)
        case FinishReason.LENGTH:
            return Ending(EndReason.LENGTH, notice_of(EndReason.LENGTH, texts))
        case FinishReason.CONTENT_FILTER:
            reason = EndReason.CONTENT_FILTER
            return Ending(reason, notice_of(reason, texts))
        case FinishReason.TOOL_CALLS:
            return Ending(EndReason.TOOL_CALLS)
        case FinishReason.INTERRUPTED:
            return Ending(EndReason.INCOMPLETE, is_whole=False)
        case FinishReason.NONE:
            if missing_is_complete:
                return Ending(EndReason.COMPLETE)
            return Ending(EndReason.INCOMPLETE, is_whole=False)


def error_text(error: ModelError, texts: Texts) -> str:
    """What the caller may show of a failed model call."""
    return texts.error_prefix + texts.fault(error.safe_reason)


def notice_of(reason: EndReason, texts: Texts) -> Notice | None:
    """The notice after a reply that ended for this reason, if there is one."""
    known = {
        EndReason.LENGTH: texts.length_notice,
        EndReason.CONTENT_FILTER: texts.content_filter_notice,
    }
    text = known.get(reason)
    return Notice(text, reason) if text else None
