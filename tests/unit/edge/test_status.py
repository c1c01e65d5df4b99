"""One table from errors to statuses, and no status that a header cannot carry."""

import re
from pathlib import Path

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from hypothesis import given
from hypothesis import strategies as st

from backscroll.v1 import error_pb2
from backscroll_sidecar import errors
from backscroll_sidecar.edge.grpc.status import DETAILS, DOMAIN, trailing_metadata
from backscroll_sidecar.edge.status import (
    CODES,
    Code,
    Refused,
    capped,
    code_for,
    internal_refusal,
    refusal_for,
)
from backscroll_sidecar.errors import BackscrollError, InvalidRequest, Reason

PROTO = Path(__file__).parents[3] / "proto/backscroll/v1/error.proto"
KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type)
    and issubclass(kind, BackscrollError)
    and kind is not errors.StartRefused  # no call's
]


def details(refused: Refused) -> error_details_pb2.ErrorInfo:
    (detail,) = status_of(refused).details
    info = error_details_pb2.ErrorInfo()
    assert detail.Unpack(info)
    return info


def status_of(refused: Refused) -> status_pb2.Status:
    return status_pb2.Status.FromString(dict(trailing_metadata(refused))[DETAILS])


def documented_codes() -> dict[str, str]:
    """What error.proto promises: each reason's comment ends with the name of its code."""
    text = PROTO.read_text(encoding="utf-8")
    found = {}
    for comment, name in re.findall(r"((?:  //.*\n)+)  ERROR_REASON_(\w+) = [1-9]", text):
        codes = [c.name for c in Code if re.search(rf"\b{c.name}\.\s*$", comment)]
        found[name] = codes[0]
    return found


def test_reasons_are_those_of_the_contract() -> None:
    declared = {
        name.removeprefix("ERROR_REASON_")
        for name in error_pb2.ErrorReason.DESCRIPTOR.values_by_name
    }
    assert {reason.value for reason in Reason} == declared - {"UNSPECIFIED"}
    assert documented_codes().keys() == {reason.value for reason in Reason}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_code_is_the_one_the_contract_documents(kind: type[BackscrollError]) -> None:
    error = kind(1, 2) if kind is errors.BudgetTooSmall else kind("why")
    assert code_for(error).name == documented_codes()[error.reason.value]


def test_a_class_without_a_line_has_its_parents_code() -> None:
    class Odd(errors.StoreReadOnly):
        pass

    assert Odd not in CODES
    assert code_for(Odd("x")) is Code.UNAVAILABLE


def test_a_status_tells_reason_field_and_metadata() -> None:
    refused = refusal_for(errors.BudgetTooSmall(10, 25))
    info = details(refused)
    assert refused.code is Code.INVALID_ARGUMENT
    assert (info.domain, info.reason) == (DOMAIN, "BUDGET_TOO_SMALL")
    assert dict(info.metadata) == {
        "field": "token_budget",
        "least_tokens": "25",
        "token_budget": "10",
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_only_a_full_disk_tells_clients_not_to_retry(kind: type[BackscrollError]) -> None:
    """A store that is away for a moment is asked again, a full disk is not."""
    refused = refusal_for(kind(1, 2) if kind is errors.BudgetTooSmall else kind("why"))
    told = dict(trailing_metadata(refused)).get("grpc-retry-pushback-ms")
    assert told == ("-1" if kind is errors.StoreReadOnly else None)


def test_a_fault_tells_its_incident_only() -> None:
    refused = internal_refusal("abc")
    assert refused.code is Code.INTERNAL
    assert dict(details(refused).metadata) == {"incident": "abc"}


@given(
    st.text(max_size=3_000),
    st.dictionaries(st.text(min_size=1, max_size=9), st.text(max_size=2_000), max_size=9),
)
def test_text_and_details_fit_a_header(text: str, metadata: dict[str, str]) -> None:
    """A text too long for the header would turn any error into RESOURCE_EXHAUSTED."""
    refused = refusal_for(InvalidRequest(text, field="f", metadata=metadata))
    assert len(refused.text.encode()) <= 512
    assert status_of(refused).ByteSize() <= 4_096
    assert status_of(refused).message == refused.text
    assert details(refused).reason == "INVALID_FIELD"


@given(st.text(), st.integers(3, 40))
def test_a_text_is_cut_between_characters(text: str, limit: int) -> None:
    short = capped(text, limit)
    assert len(short.encode()) <= limit
    assert short == text.encode(errors="replace").decode() or short.endswith("…")


def test_codes_are_grpcs() -> None:
    assert {code.name: code.value for code in Code} == {
        code.name: code.value[0] for code in grpc.StatusCode
    }
