"""Where a request of OpenAI's API belongs: what counts, in which order, and in which form."""

import base64
from typing import Any

import pytest

from backscroll_sidecar.edge.http.addressing import Address, address_of, without_address
from backscroll_sidecar.errors import InvalidRequest

PACKED = "b64_" + base64.urlsafe_b64encode("群:1".encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("headers", "body", "wanted"),
    [
        ({}, {}, Address()),
        ({"session-id": "a", "thread-id": "b", "x-litellm-trace-id": "c"}, {}, Address()),
        ({"x-session-id": "s"}, {}, Address("s")),
        ({"x-litellm-session-id": "l", "x-session-id": "s"}, {}, Address("l")),
        ({"x-openwebui-chat-id": "o", "x-litellm-session-id": "l"}, {}, Address("o")),
        ({"x-openwebui-chat-id": "o"}, {"metadata": {"backscroll_channel": "m"}}, Address("m", True)),
        ({"x-backscroll-channel": "h"}, {"metadata": {"backscroll": {"channel": "m"}}}, Address("h", True)),
        ({"x-backscroll-channel": PACKED}, {}, Address("群:1", True)),
        ({}, {"metadata": {"backscroll": f'{{"channel": "{PACKED}", "asker": "u1", "session": "s"}}'}},
         Address("群:1", True, "u1", session="s")),
        ({"x-openwebui-user-id": "w"}, {}, Address(asker_id="w")),
        ({"x-openwebui-user-name": "%E5%AE%89"}, {}, Address(asker_name="安")),
        ({"x-openwebui-user-name": "%E5%AE%89%00" * 200}, {}, Address(asker_name="安" * 170)),
        ({"x-openwebui-user-id": "w", "x-backscroll-asker": "u"}, {}, Address(asker_id="u")),
        ({"x-backscroll-message-id": "q"}, {}, Address(message_id="q")),
        ({"x-backscroll-bot": "cat"}, {}, Address(bot="cat")),
        ({"x-session-id": ""}, {"metadata": None}, Address()),
    ],
)  # fmt: skip
def test_what_counts(headers: dict[str, str], body: dict[str, Any], wanted: Address) -> None:
    assert address_of(headers, body) == wanted


@pytest.mark.parametrize(
    ("headers", "body", "field"),
    [
        ({"x-backscroll-channel": "b64_***"}, {}, "x-backscroll-channel"),
        ({"x-backscroll-channel": "b64__w"}, {}, "x-backscroll-channel"),
        ({"x-backscroll-channel": "b64_"}, {}, "x-backscroll-channel"),
        ({"x-backscroll-channel": "b64_YQBi"}, {}, "x-backscroll-channel"),  # holds U+0000
        ({"x-session-id": "x" * 600}, {}, "x-session-id"),
        ({}, {"metadata": {"backscroll_asker": "a\0b"}}, "metadata.backscroll.asker"),
        ({"x-backscroll-asker": "b64_AA"}, {}, "x-backscroll-asker"),
        ({}, {"metadata": {"backscroll": "{"}}, "metadata.backscroll"),
        ({}, {"metadata": {"backscroll": '"group-1"'}}, "metadata.backscroll"),
        ({}, {"metadata": {"backscroll": {"channel": 3}}}, "metadata.backscroll.channel"),
        ({}, {"metadata": {"backscroll_channel": -100}}, "metadata.backscroll_channel"),
    ],
)
def test_what_is_no_id_is_named(headers: dict[str, str], body: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        address_of(headers, body)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("metadata", "left"),
    [
        ({"backscroll": {"channel": "c"}}, None),
        ({"backscroll_channel": "c", "backscroll_asker": "u"}, None),
        ({"backscroll_channel": "c", "kept": "x"}, {"kept": "x"}),
        ({"kept": "x"}, {"kept": "x"}),
        ({}, {}),
    ],
)
def test_what_was_for_us_does_not_reach_the_vendor(metadata: Any, left: Any) -> None:
    body = {"model": "m", "metadata": metadata}
    assert without_address(body).get("metadata") == left
    assert body["metadata"] is metadata
