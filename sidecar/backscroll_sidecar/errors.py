"""Typed errors of the domain. `edge.status` maps them to status codes."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """The closed set of reasons an error may carry; mirrors `backscroll.v1.ErrorReason`."""

    INVALID_FIELD = "INVALID_FIELD"
    MISSING_FIELD = "MISSING_FIELD"
    QUESTION_MISSING = "QUESTION_MISSING"
    BUDGET_TOO_SMALL = "BUDGET_TOO_SMALL"
    MALFORMED_REQUEST = "MALFORMED_REQUEST"
    TOO_LARGE = "TOO_LARGE"
    BATCH_TOO_LARGE = "BATCH_TOO_LARGE"
    UNKNOWN_PROFILE = "UNKNOWN_PROFILE"
    CHANNEL_NOT_FOUND = "CHANNEL_NOT_FOUND"
    MESSAGE_NOT_FOUND = "MESSAGE_NOT_FOUND"
    MESSAGE_GONE = "MESSAGE_GONE"
    TURN_NOT_FOUND = "TURN_NOT_FOUND"
    SESSION_NOT_FOUND = "SESSION_NOT_FOUND"
    SPACE_NOT_FOUND = "SPACE_NOT_FOUND"
    ROUND_NOT_FOUND = "ROUND_NOT_FOUND"
    INTERRUPT_NOT_FOUND = "INTERRUPT_NOT_FOUND"
    CONTEXT_NOT_FOUND = "CONTEXT_NOT_FOUND"
    CHANNEL_SETTINGS_NOT_FOUND = "CHANNEL_SETTINGS_NOT_FOUND"
    EXPERIMENT_NOT_FOUND = "EXPERIMENT_NOT_FOUND"
    CHANNELS_WOULD_MOVE = "CHANNELS_WOULD_MOVE"
    EXPERIMENTS_OVERLAP = "EXPERIMENTS_OVERLAP"
    UNKNOWN_MODE = "UNKNOWN_MODE"
    NAME_TAKEN = "NAME_TAKEN"
    ACTION_REFUSED = "ACTION_REFUSED"
    SESSION_CLOSED = "SESSION_CLOSED"
    CONFLICT = "CONFLICT"
    STORE_UNAVAILABLE = "STORE_UNAVAILABLE"
    STORE_READ_ONLY = "STORE_READ_ONLY"
    OVERLOADED = "OVERLOADED"
    NOT_IMPLEMENTED = "NOT_IMPLEMENTED"
    NOT_ALLOWED = "NOT_ALLOWED"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    DEADLINE = "DEADLINE"
    INTERNAL = "INTERNAL"


class BackscrollError(Exception):
    """Base of all typed errors.

    `field` names the request field, `metadata` goes to ErrorInfo; no user text in either.
    """

    reason = Reason.INTERNAL

    def __init__(
        self,
        message: str,
        *,
        field: str = "",
        reason: Reason | None = None,
        metadata: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.reason = reason or type(self).reason
        self.metadata = metadata or {}


class InvalidRequest(BackscrollError):
    """The request can never succeed as it is."""

    reason = Reason.INVALID_FIELD


class BudgetTooSmall(InvalidRequest):
    """Question and fixed parts alone exceed the budget; `least_tokens` would do."""

    reason = Reason.BUDGET_TOO_SMALL

    def __init__(self, budget_tokens: int, least_tokens: int) -> None:
        super().__init__(
            f"token_budget is {budget_tokens}; the question and the fixed parts alone need {least_tokens}",
            field="token_budget",
            metadata={"least_tokens": str(least_tokens), "token_budget": str(budget_tokens)},
        )
        self.least_tokens = least_tokens


class NotFound(BackscrollError):
    """The thing named does not exist (for this tenant)."""

    reason = Reason.CHANNEL_NOT_FOUND


def unknown_channel() -> NotFound:
    """Nothing was ever stored in the channel of a request."""
    return NotFound("nothing is known of this channel", field="channel")


class Conflict(BackscrollError):
    """The stored state contradicts the request."""

    reason = Reason.CONFLICT


class Gone(BackscrollError):
    """The message was recalled or erased and stays gone."""

    reason = Reason.MESSAGE_GONE


class FailedPrecondition(BackscrollError):
    """What is asked for is not possible as things stand now."""

    reason = Reason.ACTION_REFUSED


class StoreUnavailable(BackscrollError):
    """The store cannot be read or written now; safe to retry."""

    reason = Reason.STORE_UNAVAILABLE


class StoreReadOnly(StoreUnavailable):
    """The disk is full or read-only: appends are refused, builds go on."""

    reason = Reason.STORE_READ_ONLY


class StoreMoved(StoreUnavailable):
    """The history is on its way to another database, or there; the server of that one takes the same call."""

    def __init__(
        self, message: str = "this history moved to another database: its server takes the call"
    ) -> None:
        super().__init__(message)


class Overloaded(BackscrollError):
    """A bounded queue is full; retry later."""

    reason = Reason.OVERLOADED


class DeadlineExceeded(BackscrollError):
    """The caller's deadline passed while work was queued."""

    reason = Reason.DEADLINE


class NotImplementedYet(BackscrollError):
    """The contract has it, this version does not."""

    reason = Reason.NOT_IMPLEMENTED


class NotAllowed(BackscrollError):
    """The credential does not permit it."""

    reason = Reason.NOT_ALLOWED


class Unauthenticated(BackscrollError):
    """No credential, or one that is not known."""

    reason = Reason.UNAUTHENTICATED


class StartRefused(BackscrollError):
    """The server does not start as it is set.

    Parameters
    ----------
    setting
        The name of the setting at fault, as `config.settings` spells it.
    why
        Goes on after that name: "listen: 0.0.0.0:7171 is …".
    """

    reason = Reason.INVALID_FIELD

    def __init__(self, setting: str, why: str) -> None:
        name = f"BACKSCROLL_{setting.upper()}"
        super().__init__(f"{setting} ({name}) {why}", field=setting)
        self.setting = setting
