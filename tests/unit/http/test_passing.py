"""What of a vendor's answer is passed on at once, and what is held."""

import pytest

from backscroll_sidecar.edge.http.passing import MOST_HELD_BYTES, PassedOn
from backscroll_sidecar.ports import VendorAnswer


def events(*reads: bytes) -> tuple[list[bytes], PassedOn]:
    answer = PassedOn(VendorAnswer(200, {"content-type": "Text/Event-Stream; charset=utf-8"}))
    return [answer.feed(read) for read in reads], answer


@pytest.mark.parametrize(
    "end",
    [
        b"data: [DONE]\n\n",
        b"data:[DONE]\r\n\r\n",
        b"data: [DONE]",
        b"data: [DONE]\n\n: bye\n\n",
    ],
)
@pytest.mark.parametrize("size", [1, 3, 1_000])
def test_the_last_event_is_held_however_it_comes(end: bytes, size: int) -> None:
    whole = b'data: {"say": "data: [DONE]"}\n\n: ping\n\n' + end
    passed, answer = events(*(whole[at : at + size] for at in range(0, len(whole), size)))
    assert b"".join(passed) == whole.removesuffix(end)
    assert answer.end() == end


def test_half_a_line_is_no_part_of_an_answer_that_breaks_off() -> None:
    passed, answer = events(b'data: {"a": 1}\n\nda', b'ta: {"b"')
    assert b"".join(passed) + answer.broken(b"{}") == b'data: {"a": 1}\n\n\n\ndata: {}\n\n'
    passed, answer = events(b"data: {}\n\n", b"data: [DONE]\n\n")
    assert b"".join(passed) + answer.broken(b"{}") == b"data: {}\n\n\n\ndata: {}\n\n"


def test_a_long_line_is_not_held_and_what_are_no_events_is_passed_on_as_it_comes() -> None:
    long = b"data: " + b"x" * MOST_HELD_BYTES
    passed, answer = events(long, b"y\n\n")
    assert passed == [long, b"y\n\n"]
    assert answer.end() == b""
    whole = PassedOn(VendorAnswer(200, {"content-type": "application/json"}))
    assert whole.feed(b"data: [DONE]") == b"data: [DONE]"
