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
    ProviderStatePart,
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
        # full-width digits and signs, as Chinese keyboards type them
        ("手机：１３８００１３８０００，谢谢", "手机：[电话号码]，谢谢"),
        ("身份证１１０１０５１９４９１２３１００２Ｘ", "身份证[证件号码]"),
        ("卡 ６２２２０２１２３４５６７８９０１２８", "卡 [卡号]"),
        ("邮箱 ann＠example．com", "邮箱 [邮箱]"),
        ("password：hunter22", "password：[secret]"),
        ("138\u00a00013\u20118000", "[phone number]"),
        ("x" * 70 + "@example.com", "[email]"),
        # with a country code, an area code, letters beside
        ("0086 13912345679 or 86-13912345679", "[phone number] or [phone number]"),
        ("(010) 62345678, 021 6234 5678, 01062345678, 07558234567", ", ".join(["[phone number]"] * 4)),
        ("tel13800138000 wx13800138000_ 13800138000vx同号", "tel[电话号码] wx[电话号码]_ [电话号码]vx同号"),
        ("138.0013.8000, 1-415-555-2671, 415 555 2671", ", ".join(["[phone number]"] * 3)),
        ("110105 19491231 002X and id_11010519491231002x", "[ID number] and id_[ID number]"),
        # a card with other numbers beside it
        ("4111 1111 1111 1111 123", "[card number] 123"),
        ("4111111111111111 12/28", "[card number] 12/28"),
        ("2 4111-1111-1111-1111", "2 [card number]"),
        ("1234 3782 822463 10005 28", "1234 [card number] 28"),
        # names of secrets as programs and people write them
        ('{"password": "correct horse"', '{"password": "[secret]"'),
        ("DB_PASSWORD=hunter22 client_secret: hunter22", "DB_PASSWORD=[secret] client_secret: [secret]"),
        ("aws_secret_access_key=wJalrXUt/K7MDENG", "aws_secret_access_key=[secret]"),
        ("我的password: hunter22", "我的password: [密钥]"),
        ("密码为hunter22，别外传 口令＝天王盖地虎", "密码为[密钥] 口令＝[密钥]"),
        ("wifi密码 abc12345", "wifi密码 [密钥]"),
        ("redis://:hunter22@db and https://u:p@ss@db", "redis://:[secret]@db and https://u:[secret]@db"),
        ("sk_live_abcdefghijklmnop12", "[secret]"),
        ("hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "[secret]"),
        ("LTAI5tAbCdEfGhIjKlMnOpQr 和 AKIDz8krbsJ5yKBZQpn74WFkmLPx3EXAMPLE", "[密钥] 和 [密钥]"),
        ("sk-" + "a1" * 180, "[secret]"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic [secret]"),
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
        "太强了6666666666666",
        "+1 2 3 and +123 1234 1234 1234 1234 1234",
        "110105194913310021 没有十三月，110105194902290029 不是闰年",
        "1380013800012 and 0.13800138000",
        "密码是不是改过了，密码是多少来着",
        "密码 reset",
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


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        # escapes hide the number, or stand right before it
        (json.dumps({"q": "电话13800138000"}), {"q": "电话[电话号码]"}),
        (json.dumps({"q": "tel:\n138\u00a000138000"}), {"q": "tel:\n[phone number]"}),
        ('{"q": "\\u0031380013800\\u0030"}', {"q": "[phone number]"}),
        # a secret stands apart from its name
        ('{"password":"hunter22","db":{"apiKey":12345678},"口令":"天王盖地虎"}',
         {"password": "[secret]", "db": {"apiKey": "[secret]"}, "口令": "[密钥]"}),
        # the first of two alike is not seen by who reads it
        ('{"q":"ann@example.com","q":"x"}', {"q": "x"}),
        ('{"token": null, "secret": true, "password": "", "max_tokens": 4096}',
         {"token": None, "secret": True, "password": "", "max_tokens": 4096}),
        ('["ann@example.com"]', ["[email]"]),
    ],
)  # fmt: skip
def test_json_is_looked_at_as_what_it_says(given, stored):
    parts = (ToolCallPart("c", "send", given), ToolResultPart("c", "send", given))
    call, result = redacted(Message("m", "room", ANN, parts, 1), ALL).parts
    assert json.loads(call.arguments_json) == stored
    assert json.loads(result.text) == stored
    kept = redacted(Message("m", "room", ANN, parts, 1), [RedactionKind.CARD])
    assert kept.parts == parts


def test_a_signed_thought_that_tells_it_is_left_out():
    def thought(text):
        return ProviderStatePart(
            "api", "anthropic_messages", "m", "thinking", json.dumps({"thinking": text}).encode()
        )

    parts = (thought("她的电话是13800138000"), thought("nothing of it"), TextPart("13800138000"))
    message = Message("m", "room", ANN, parts, 1)
    assert redacted(message, ALL).parts == (parts[1], TextPart("[phone number]"))
    assert redacted(message, [RedactionKind.CARD]).parts == parts


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
@pytest.mark.timeout(200)
def test_a_hostile_text_is_looked_at_once(text):
    """A search that goes back and forth would take hours."""
    assert len(redacted_text(text, ALL)) <= 2 * len(text)
