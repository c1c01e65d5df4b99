"""The search for canaries finds them however they are written."""

import base64
import gzip
import json
import zlib

import pytest

from tests.kit.canaries import found_in

WORD = "canary-黄雀-4711"
PACKED = {
    "raw": lambda text: text.encode(),
    "utf-16": lambda text: text.encode("utf-16-le"),
    "utf-16-be": lambda text: text.encode("utf-16-be"),
    "json": lambda text: json.dumps({"text": text}).encode(),
    "json, upper case": lambda text: (
        json.dumps(text).replace("9ec4", "9EC4").replace("96c0", "96C0").encode()
    ),
    "base64": lambda text: base64.b64encode(text.encode()),
    "base64, one further": lambda text: base64.b64encode(b"x" + text.encode()),
    "base64, two further": lambda text: base64.b64encode(b"xx" + text.encode()),
    "hex": lambda text: text.encode().hex().encode(),
    "zlib": lambda text: b"junk" + zlib.compress(text.encode() * 3) + b"junk",
    "gzip": lambda text: gzip.compress(text.encode()),
}


@pytest.mark.parametrize("how", PACKED)
def test_it_is_found(how, tmp_path):
    (tmp_path / "deep").mkdir()
    file = tmp_path / "deep" / "file.bin"
    file.write_bytes(b"\1\2\3" + PACKED[how](f"before {WORD} behind"))
    assert found_in(tmp_path, "other", WORD)
    file.write_bytes(b"\1\2\3" + PACKED[how]("before behind"))
    assert found_in(tmp_path, WORD) == []
