import pytest

from backscroll_sidecar.models.faults import (
    MAX_RETRY_AFTER_S,
    REASONS,
    fault_of_status,
    known_code,
    of_event,
    of_status,
    retry_after_s,
)
from backscroll_sidecar.ports import ModelFault

DATE = "Wed, 21 Oct 2026 07:28:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "20"}, 20.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "1e99"}, MAX_RETRY_AFTER_S),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": DATE}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:27:00 GMT", "date": DATE}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 -0000", "date": DATE}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


def test_every_status_has_a_fault_and_every_fault_words() -> None:
    assert {fault_of_status(status) for status in range(300, 600)} <= set(ModelFault)
    assert set(REASONS) == set(ModelFault)
    assert fault_of_status(999) is ModelFault.SERVER_ERROR


def test_a_known_code_says_more_than_its_status() -> None:
    assert (
        of_status(400, {"code": "context_length_exceeded"}, {}).safe_reason
        == "the request is too long for the model"
    )
    assert of_status(429, {"code": "insufficient_quota"}, {}).fault is ModelFault.RATE_LIMITED
    assert of_status(400, {"code": ["x"]}, {}).safe_reason == REASONS[ModelFault.REJECTED]


@pytest.mark.parametrize(
    ("body", "told", "shown"),
    [
        (
            {"code": "unsupported_value", "type": "invalid_request_error", "param": "temperature"},
            {"code": "unsupported_value", "type": "invalid_request_error", "param": "temperature"},
            " (unsupported_value: temperature): BACKSCROLL_TEMPERATURE=none sends no temperature",
        ),
        (
            {"type": "invalid_request_error", "param": "messages[0].content[12].text", "code": None},
            {"type": "invalid_request_error", "param": "messages[0].content[12].text"},
            " (invalid_request_error: messages[0].content[12].text)",
        ),
        ({"type": "BadRequestError", "code": 400}, {"type": "BadRequestError"}, " (BadRequestError)"),
        ({"param": "max_tokens"}, {"param": "max_tokens"}, " (max_tokens)"),
        # What could be a key may be logged as a code, as before, and is never shown.
        ({"code": "sk-secret", "type": "word1"}, {"code": "sk-secret", "type": "word1"}, ""),
        ({"param": "sk-secret", "code": "a" * 65, "type": "Sk"}, {}, ""),
        ({"param": "the text: 我的密码", "type": "x y", "code": {"a": 1}}, {}, ""),
        ({"param": "a" * 65, "message": "bad thing"}, {}, ""),
        ("bad thing", {}, ""),
        (None, {}, ""),
    ],
)  # fmt: skip
def test_a_refusal_names_what_the_vendor_names(body: object, told: dict, shown: str) -> None:
    """S5-32: names of errors and parameters, nothing that could be a sentence, a key or an address."""
    for error in (of_status(400, body, {}), of_status(422, body, {})):
        assert error.told == told
        assert error.safe_reason == REASONS[ModelFault.REJECTED] + shown
    assert of_status(500, body, {}).safe_reason == REASONS[ModelFault.SERVER_ERROR]


@pytest.mark.parametrize("code", ["sk-" + "a" * 90, "a b", "A", "", None, 5, {"a": 1}, "x\n", "é"])
def test_a_code_that_could_be_anything_is_not_logged(code: object) -> None:
    assert known_code(code) == ""


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (None, ModelFault.SERVER_ERROR),
        ("boom", ModelFault.SERVER_ERROR),
        ({"error": {"code": 401}}, ModelFault.UNAUTHORIZED),
        ({"code": "429"}, ModelFault.RATE_LIMITED),
        ({"code": "rate_limit_exceeded"}, ModelFault.RATE_LIMITED),
        ({"status": 502}, ModelFault.SERVER_ERROR),
        ({"code": 7, "type": ["x"]}, ModelFault.SERVER_ERROR),
        ({"type": "invalid_request_error"}, ModelFault.REJECTED),
        ({"code": "context_length_exceeded"}, ModelFault.REJECTED),
        ({"code": "insufficient_quota"}, ModelFault.RATE_LIMITED),
    ],
)
def test_error_events(body: object, fault: ModelFault) -> None:
    assert of_event(body).fault is fault
