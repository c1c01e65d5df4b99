from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor

class ErrorReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERROR_REASON_UNSPECIFIED: _ClassVar[ErrorReason]
    ERROR_REASON_INVALID_FIELD: _ClassVar[ErrorReason]
    ERROR_REASON_MISSING_FIELD: _ClassVar[ErrorReason]
    ERROR_REASON_QUESTION_MISSING: _ClassVar[ErrorReason]
    ERROR_REASON_BUDGET_TOO_SMALL: _ClassVar[ErrorReason]
    ERROR_REASON_MALFORMED_REQUEST: _ClassVar[ErrorReason]
    ERROR_REASON_TOO_LARGE: _ClassVar[ErrorReason]
    ERROR_REASON_BATCH_TOO_LARGE: _ClassVar[ErrorReason]
    ERROR_REASON_UNKNOWN_PROFILE: _ClassVar[ErrorReason]
    ERROR_REASON_CHANNEL_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_MESSAGE_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_MESSAGE_GONE: _ClassVar[ErrorReason]
    ERROR_REASON_CONFLICT: _ClassVar[ErrorReason]
    ERROR_REASON_STORE_UNAVAILABLE: _ClassVar[ErrorReason]
    ERROR_REASON_STORE_READ_ONLY: _ClassVar[ErrorReason]
    ERROR_REASON_OVERLOADED: _ClassVar[ErrorReason]
    ERROR_REASON_NOT_IMPLEMENTED: _ClassVar[ErrorReason]
    ERROR_REASON_NOT_ALLOWED: _ClassVar[ErrorReason]
    ERROR_REASON_UNAUTHENTICATED: _ClassVar[ErrorReason]
    ERROR_REASON_DEADLINE: _ClassVar[ErrorReason]
    ERROR_REASON_INTERNAL: _ClassVar[ErrorReason]
    ERROR_REASON_TURN_NOT_FOUND: _ClassVar[ErrorReason]
ERROR_REASON_UNSPECIFIED: ErrorReason
ERROR_REASON_INVALID_FIELD: ErrorReason
ERROR_REASON_MISSING_FIELD: ErrorReason
ERROR_REASON_QUESTION_MISSING: ErrorReason
ERROR_REASON_BUDGET_TOO_SMALL: ErrorReason
ERROR_REASON_MALFORMED_REQUEST: ErrorReason
ERROR_REASON_TOO_LARGE: ErrorReason
ERROR_REASON_BATCH_TOO_LARGE: ErrorReason
ERROR_REASON_UNKNOWN_PROFILE: ErrorReason
ERROR_REASON_CHANNEL_NOT_FOUND: ErrorReason
ERROR_REASON_MESSAGE_NOT_FOUND: ErrorReason
ERROR_REASON_MESSAGE_GONE: ErrorReason
ERROR_REASON_CONFLICT: ErrorReason
ERROR_REASON_STORE_UNAVAILABLE: ErrorReason
ERROR_REASON_STORE_READ_ONLY: ErrorReason
ERROR_REASON_OVERLOADED: ErrorReason
ERROR_REASON_NOT_IMPLEMENTED: ErrorReason
ERROR_REASON_NOT_ALLOWED: ErrorReason
ERROR_REASON_UNAUTHENTICATED: ErrorReason
ERROR_REASON_DEADLINE: ErrorReason
ERROR_REASON_INTERNAL: ErrorReason
ERROR_REASON_TURN_NOT_FOUND: ErrorReason
