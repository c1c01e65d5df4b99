"""What is found, what is not, and what becomes of the rest of a message."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.domain import (
    Author,
    MediaPart,
    Mention,
    Message,
    RedactionKind,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from backscroll_sidecar.history.redaction import redacted, redacted_text

ALL = frozenset(RedactionKind)
ANN = Author("u1", "Ann")


def clean(text, *kinds):
    return redacted_text(text, frozenset(kinds) or ALL)


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("write to ann.lee+x@example.co.uk, please", "write to [email], please"),
        ("邮箱是ann@example.com，谢谢", "邮箱是[邮箱]，谢谢"),
        ("邮箱 ann@example.com 谢谢", "邮箱 [邮箱] 谢谢"),
        ("call 138 0013 8000 or +86-13800138000", "call [phone number] or [phone number]"),
        ("电话：010-62345678", "电话：[电话号码]"),
        ("my number is (415) 555-2671.", "my number is [phone number]."),
        ("+44 20 7946 0958 is London", "[phone number] is London"),
        ("card 4111 1111 1111 1111 ok", "card [card number] ok"),
        ("卡号6222021234567890128", "卡号[卡号]"),
        ("身份证 11010519491231002X", "身份证 [证件号码]"),
        ("SSN 123-45-6789", "SSN [ID number]"),
        ("key sk-abcdefghijklmnop1234 here", "key [secret] here"),
        ("AKIAIOSFODNN7EXAMPLE", "[secret]"),
        ("password: hunter22!", "password: [secret]"),
        ("密码是hunter22", "密码是[密钥]"),
        ("https://ann:s3cret@example.com/x", "https://ann:[secret]@example.com/x"),
        ("Authorization: Bearer abcdefghij1234567890", "Authorization: Bearer [secret]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----", "[secret]"),
    ],
)  # fmt: skip
def test_what_is_found(text, stored):
    assert clean(text) == stored


@pytest.mark.parametrize(
    "text",
    [
        "the year 2024, 3.14159 and 1,000,000",
        "order 12345678 of 2024-05-01 12:30",
        "4111 1111 1111 1112 has a wrong check digit",
        "110105194912310021 has none either",
        "00000000000000",
        "see line 138001380001 of the log",
        "what is your password?",
        "the token bucket is full",
        "@ann look at user@",
        "10.0.0.1:8080 and fe80::1",
        "a commit: 3f0c9e7a1b2d4c5e6f708192a3b4c5d6e7f80910",
        "猫吃鱼，狗也吃鱼 123",
        "msgid 1795176000000",
    ],
)
def test_what_is_left_alone(text):
    assert clean(text) == text


def test_only_what_is_wanted():
    text = "ann@example.com 138 0013 8000"
    assert clean(text, RedactionKind.PHONE) == "ann@example.com [phone number]"
    message = Message("m", "room", ANN, (TextPart(text),), 1)
    assert redacted(message, ()) is message


def test_all_parts_of_a_message():
    arguments = '{"to": "ann@example.com", "phone": 13800138000, "n": [1, true, null]}'
    message = Message(
        "m",
        "room",
        ANN,
        (
            TextPart("hi"),
            MediaPart("image", "https://x/ann@example.com", "card 4111111111111111"),
            ToolCallPart("c", "send", arguments),
            ToolCallPart("d", "send", "broken ann@example.com"),
            ToolResultPart("c", "send", "sent to ann@example.com"),
        ),
        1,
    )
    _, media, call, broken, result = redacted(message, ALL).parts
    assert (media.uri, media.alt_text) == ("https://x/ann@example.com", "card [card number]")
    assert json.loads(call.arguments_json) == {
        "to": "[email]", "phone": "[phone number]", "n": [1, True, None],
    }  # fmt: skip
    assert broken.arguments_json == "broken [email]"
    assert result.text == "sent to [email]"


@pytest.mark.parametrize("depth", [200, 300, 900, 5_000])
def test_arguments_of_any_depth(depth):
    arguments = "[" * depth + '"ann@example.com"' + "]" * depth
    message = Message("m", "room", ANN, (ToolCallPart("c", "send", arguments),), 1)
    (call,) = redacted(message, ALL).parts
    assert call.arguments_json == arguments.replace("ann@example.com", "[email]")


def test_mentions_move_along():
    text = "@Ben ann@example.com @Cat @ann@example.com"
    places = [text.index("@Ben"), text.index("@Cat"), text.rindex("@ann")]
    mentions = tuple(Mention(f"u{n}", "", start, start + 4) for n, start in enumerate(places))
    message = Message("m", "room", ANN, (TextPart(text),), 1, mentions=(*mentions, Mention("u9")))
    changed = redacted(message, ALL)
    new = changed.text
    told = [(one.user_id, new[one.start : one.end]) for one in changed.mentions]
    assert told[:2] == [("u0", "@Ben"), ("u1", "@Cat")]
    assert told[3] == ("u9", "")


texts = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from([
            "ann@example.com", "13800138000", "4111 1111 1111 1111", "sk-" + "a" * 20, "密码：", " ", "@", "1", "-",
            "x", "猫", "\n", "password=", "://a:b@",
        ])
    ).map("".join),
)  # fmt: skip


@given(texts, st.sets(st.sampled_from(list(RedactionKind))))
def test_what_is_redacted_stays_as_it_is(text, kinds):
    """Never raises; a second time changes nothing; without kinds nothing changes."""
    once = redacted_text(text, frozenset(kinds))
    assert redacted_text(once, frozenset(kinds)) == once
    if not kinds:
        assert once == text


@pytest.mark.parametrize(
    "text",
    ["a" * 65_000, "1" * 65_000, "1 " * 32_000, "a@" * 32_000, "a.b@c." * 10_000, "+1 (1) " * 9_000,
     "+1234567890123456789012345678a " * 30_000, "-----BEGIN PRIVATE KEY-----" * 120_000 + "-----END PRIVATE KEY-----",
     "eyJ" * 20_000, "password: " * 6_000, "://a:" * 12_000, "bearer " * 9_000],
    ids=lambda text: text[:10],
)  # fmt: skip
@pytest.mark.timeout(20)
def test_a_hostile_text_is_looked_at_once(text):
    """A search that goes back and forth would take hours."""
    assert len(redacted_text(text, ALL)) <= 2 * len(text)
