"""A recorded build as a line of JSON. Pure."""

from typing import Any

from google.protobuf import json_format

from backscroll.v1 import learning_pb2

NUMBERS = ("created_at_ms", "asked_at_ms", "build_microseconds", "at_ms")
"""Fields of 64 bits, which protobuf writes as text."""


def usage_line(build: learning_pb2.ExportedUsage) -> dict[str, Any]:
    """One object: the version, the fields of the record, and what else is known of its messages.

    A score, a fate and a signal's confidence are always there; what else has its usual value may be missing.
    """
    record = json_format.MessageToDict(build.record, preserving_proto_field_name=True)
    for candidate in record.get("candidates", ()):
        candidate.setdefault("score", 0.0)
    for signal in record.get("signals", ()):
        signal.setdefault("confidence", 0.0)
        _number(signal)
    _number(record)
    messages = [
        json_format.MessageToDict(one, preserving_proto_field_name=True) for one in build.messages
    ]
    return {"version": build.version, **record, **({"messages": messages} if messages else {})}


def _number(record: dict[str, Any]) -> None:
    for name in NUMBERS:
        if name in record:
            record[name] = int(record[name])
