"""The table of causes: what the model's server does, what is heard, how it ends, what is stored."""

import json
from dataclasses import dataclass, field

from tests.contract.models.sse_server import (
    CUT,
    DONE,
    HANG,
    Reply,
    Step,
    chunk,
    data,
    error_body,
    said,
    stopped,
    used,
    whole,
)

LENGTH_BYTES = "(后续内容被截断)".encode()
FILTER_BYTES = "赤尾有点不想讨论这个话题呢~".encode()
SECRET = "boom sk-secret http://10.0.0.1"
LATE = {"model_idle_seconds": 0.2}
LENIENT = {"model_missing_finish_is_complete": True}
JSON = {"content-type": "application/json"}
HTML = {"content-type": "text/html; charset=utf-8"}
PAGE = b"<!doctype html>\n<html><body>Bad \xff Gateway boom</body></html>\n"

Error = tuple[str, str]
"""The reason and the words that a caller sees."""

BUSY = ("rate_limited", "the model has too many requests at the moment")
REFUSED = ("rejected", "the model refused the request (nothing_known)")
TOO_LONG = ("rejected", "the request is too long for the model")
NO_KEY = ("unauthorized", "the model refused the server's credentials")
FAILED = ("server_error", "the model's server failed")
NO_ANSWER = ("timeout", "the model did not answer in time")
BROKEN = ("connection", "the connection to the model failed")
UNREADABLE = ("bad_response", "the model's answer could not be read")
NOTHING = ("bad_response", "the model sent no answer")
NO_TOOLS = ("bad_response", "the model asked for tools it was not given")


@dataclass(frozen=True)
class Row:
    """One cause and what follows.

    `text` is what the deltas say and what is stored of it: nothing where it is empty, marked where it is `partial`.
    """

    reply: Reply
    text: str
    ending: str
    error: Error | None = None
    notice: bytes = b""
    partial: bool = False
    settings: dict[str, object] = field(default_factory=dict)
    usage: tuple[int, int] | None = None


def row(*steps: Step, text: str = "", ending: str = "UPSTREAM_ERROR", **fields) -> Row:
    """A row whose server answers 200 with these bytes."""
    return Row(Reply(steps, headers=fields.pop("headers", {})), text, ending, **fields)


def refusal(status: int, error: Error, code: str = "nothing_known", **headers: str) -> Row:
    """A row whose server answers with an error's status and body."""
    reply = Reply([error_body(code, SECRET)], status, {**JSON, **headers})
    return Row(reply, "", "UPSTREAM_ERROR", error)


def cut_after(k: int) -> Row:
    pieces = [f"{i}猫" for i in range(k)]
    return row(*map(said, pieces), CUT, text="".join(pieces), error=BROKEN, partial=k > 0)


CAT_AND_FISH = said("猫🐟")
AT = CAT_AND_FISH.index("猫".encode())
CALL = {"index": 0, "id": "c", "function": {"name": "rm", "arguments": "{}"}}
FILTERED_PROMPT = {  # as Azure documents it
    "error": {
        "message": "The response was filtered " + SECRET, "type": None, "param": "prompt", "code": "content_filter",
        "status": 400, "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {}},
    }
}  # fmt: skip

TEXTS = {
    "stop": row(
        said("你好"), said("，🐟 "), said("👩‍👩‍👧!"), stopped(), DONE, text="你好，🐟 👩‍👩‍👧!", ending="COMPLETE"
    ),
    "a pause after every byte": row(
        *(step for byte in CAT_AND_FISH for step in (bytes([byte]), 0.001)), stopped(), DONE,
        text="猫🐟", ending="COMPLETE",
    ),
    **{
        f"a pause {k} bytes into two characters": row(
            CAT_AND_FISH[: AT + k], 0.02, CAT_AND_FISH[AT + k :], stopped(), text="猫🐟", ending="COMPLETE"
        )
        for k in range(1, 7)
    },
    "separators that end no line": row(said("a\u2028b\u0085c\x0cd"), stopped(), text="a\u2028b\u0085c\x0cd",
                                       ending="COMPLETE"),
    "comments": row(b": ping\n\n", said("猫"), b":\n\n", stopped(), DONE, text="猫", ending="COMPLETE"),
    "empty choices": row(data({"choices": []}), said("猫"), stopped(), DONE, text="猫", ending="COMPLETE"),
    "empty deltas": row(data(chunk({"content": ""})), said("猫"), stopped(), text="猫", ending="COMPLETE"),
    "usage": row(said("猫"), stopped(), used(120, 7), DONE, text="猫", ending="COMPLETE", usage=(120, 7)),
    "a whole answer instead of a stream": row(whole({"content": "猫"}), text="猫", ending="COMPLETE", headers=JSON),
    "cut after the reason": row(said("猫"), stopped(), CUT, text="猫", ending="COMPLETE"),
}  # fmt: skip

ENDINGS = {
    "length": row(said("半"), stopped("length"), DONE, text="半", ending="LENGTH", notice=LENGTH_BYTES),
    "length, nothing said": row(stopped("length"), DONE, ending="LENGTH", notice=LENGTH_BYTES),
    "length, no notice wanted": row(
        said("半"), stopped("length"), text="半", ending="LENGTH", settings={"length_notice": ""}
    ),
    "length, own notice": row(
        said("半"), stopped("length"), text="半", ending="LENGTH", notice=b"...", settings={"length_notice": "..."}
    ),
    "content filter": row(
        said("嗯"), stopped("content_filter"), DONE, text="嗯", ending="CONTENT_FILTER", notice=FILTER_BYTES
    ),
    "content filter, nothing said": row(stopped("content_filter"), ending="CONTENT_FILTER", notice=FILTER_BYTES),
    "content filter, own notice": row(
        stopped("content_filter"), ending="CONTENT_FILTER", notice=b"no.", settings={"content_filter_notice": "no."}
    ),
    "prompt filter, Azure": Row(
        Reply([json.dumps(FILTERED_PROMPT).encode()], 400, JSON), "", "CONTENT_FILTER", notice=FILTER_BYTES
    ),
    "prompt filter, as an event": row(data(FILTERED_PROMPT), ending="CONTENT_FILTER", notice=FILTER_BYTES),
    "content filter, as an event": row(
        said("嗯"), data(FILTERED_PROMPT), text="嗯", ending="CONTENT_FILTER", notice=FILTER_BYTES
    ),
    "no reason": row(said("猫"), DONE, text="猫", ending="COMPLETE"),
    "a reason that is null": row(said("猫"), data(chunk(finish=None)), DONE, text="猫", ending="COMPLETE"),
    "an empty reason": row(said("猫"), stopped(""), DONE, text="猫", ending="COMPLETE"),
    "whole JSON, null": row(whole({"content": "猫"}, None), text="猫", ending="COMPLETE", headers=JSON),
    "whole JSON, empty": row(whole({"content": "猫"}, ""), text="猫", ending="COMPLETE", headers=JSON),
    "whole JSON, an interruption": row(
        whole({"content": "猫"}, "abort"), text="猫", ending="INCOMPLETE", partial=True, headers=JSON
    ),
    "MiniMax's filter, nothing said": row(
        data(chunk(finish="stop", output_sensitive=True, base_resp={"status_code": 1027, "status_msg": ""})),
        ending="CONTENT_FILTER", notice=FILTER_BYTES,
    ),
    "MiniMax's filter, whole JSON": row(
        whole({"content": ""}, base_resp={"status_code": "1026", "status_msg": "input new_sensitive"}),
        ending="CONTENT_FILTER", notice=FILTER_BYTES, headers=JSON,
    ),
    "MiniMax, all right": row(
        said("猫"), data(chunk(finish="stop", base_resp={"status_code": 0, "status_msg": ""})),
        text="猫", ending="COMPLETE",
    ),
    "a refusal": row(
        data(chunk({"refusal": "不"})), data(chunk({"refusal": "行"})), stopped(), DONE,
        text="不行", ending="CONTENT_FILTER", notice=FILTER_BYTES,
    ),
    "a refusal, whole JSON": row(
        whole({"content": None, "refusal": "不行"}), text="不行", ending="CONTENT_FILTER", notice=FILTER_BYTES,
        headers=JSON,
    ),
    "no refusal": row(data(chunk({"content": "猫", "refusal": ""})), stopped(), text="猫", ending="COMPLETE"),
    "data without blank lines": row(
        (said("猫") + said("吃") + stopped() + DONE).replace(b"\n\n", b"\n"), text="猫吃", ending="COMPLETE"
    ),
    "data without blank lines, in pieces": row(
        said("猫")[:-1], said("吃")[:9], said("吃")[9:-1], b"data: \n", stopped()[:-2], text="猫吃", ending="COMPLETE"
    ),
    "no reason, no DONE": row(said("猫"), text="猫", ending="INCOMPLETE", partial=True),
    "no reason, no DONE, lenient": row(said("猫"), text="猫", ending="COMPLETE", settings=LENIENT),
    "no blank line behind the last event": row(
        said("猫"), stopped().rstrip(), text="猫", ending="COMPLETE"
    ),
    "no reason, half of DONE's lines": row(
        said("猫"), DONE.rstrip(), text="猫", ending="COMPLETE"
    ),
    "an unknown reason": row(said("猫"), stopped("whim"), DONE, text="猫", ending="COMPLETE"),
    "an interruption": row(said("猫"), stopped("abort"), DONE, text="猫", ending="INCOMPLETE", partial=True),
    "an interruption, lenient": row(
        said("猫"), stopped("abort"), text="猫", ending="INCOMPLETE", partial=True, settings=LENIENT
    ),
    "calls announced, none made": row(
        said("猫"), stopped("tool_calls"), text="猫", ending="COMPLETE"
    ),
}  # fmt: skip

FAILURES = {
    "429": refusal(429, BUSY, **{"retry-after": "7"}),
    "503": refusal(503, FAILED, **{"retry-after": "7"}),
    "500": refusal(500, FAILED),
    "500, a page": Row(Reply([PAGE], 500, HTML), "", "UPSTREAM_ERROR", FAILED),
    "401": refusal(401, NO_KEY),
    "400": refusal(400, REFUSED),
    "400, too long": refusal(400, TOO_LONG, "context_length_exceeded"),
    "200, a page": row(PAGE.replace(b"\xff", b""), error=NOTHING, headers=HTML),
    "200, JSON of something else": row(b'{"ok": true}', error=NOTHING, headers=JSON),
    "200, half of a JSON": row(b'{"ok": ', error=UNREADABLE, headers=JSON),
    "200, JSON of an error": row(data({"error": {"message": SECRET}})[6:], error=FAILED, headers=JSON),
    "200, nothing": row(error=NOTHING),
    "200, DONE alone": row(DONE, error=NOTHING),
    "timeout before the head": Row(
        Reply(before_head=[HANG]), "", "UPSTREAM_ERROR", NO_ANSWER, settings=LATE
    ),
    "timeout before the first delta": row(HANG, error=NO_ANSWER, settings=LATE),
    "timeout between deltas": row(said("猫"), HANG, text="猫", error=NO_ANSWER, partial=True, settings=LATE),
    "cut before the head": Row(Reply(before_head=[CUT]), "", "UPSTREAM_ERROR", BROKEN),
    **{f"cut after {k} deltas": cut_after(k) for k in range(21)},
    "cut, lenient": row(said("猫"), CUT, text="猫", error=BROKEN, partial=True, settings=LENIENT),
    "cut inside a line": row(said("猫"), said("🐟")[:-9], CUT, text="猫", error=BROKEN, partial=True),
    "shorter than announced": row(
        said("猫"), text="猫", error=BROKEN, partial=True, headers={"content-length": "999"}
    ),
    **{
        # Nothing but the half line tells that the body was cut: not even who takes a missing reason for an end
        # may take it for whole.
        f"half a line of {len(half)} bytes{', lenient' * bool(settings)}": row(
            said("猫"), half, text="猫", error=BROKEN, partial=True, settings=settings
        )
        for half in (said("🐟")[:3], said("🐟")[:12], said("🐟")[:-9], said("🐟").rstrip()[:-1])
        for settings in ({}, LENIENT)
    },
    "half a line first": row(b'data: {"choices": [', error=BROKEN),
    "malformed line": row(
        said("猫"), b'data: {"choices": [{\n\n', said("🐟"), stopped(), text="猫", error=UNREADABLE, partial=True
    ),
    "malformed line first": row(b"data: {\n\n", error=UNREADABLE),
    "error event": row(
        said("猫"), data({"error": {"message": SECRET}}), text="猫", error=FAILED, partial=True
    ),
    "error event first": row(data({"error": {"message": SECRET}}), error=FAILED),
    "calls of tools it was not given": row(
        said("猫"), data(chunk({"tool_calls": [CALL]})), stopped("tool_calls"), text="猫", error=NO_TOOLS, partial=True
    ),
}  # fmt: skip

ROWS = TEXTS | ENDINGS | FAILURES
