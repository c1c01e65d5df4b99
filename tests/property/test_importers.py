"""Files that are damaged, hostile or of another age: an import names what is wrong, and nothing else happens."""

import copy
import io
import json
import random
from datetime import date
from pathlib import Path

import ijson
import pytest

from backscroll_sidecar.importers.items import NotUnderstood, Options, Unreadable
from backscroll_sidecar.importers.json_bytes import MAX_DEPTH, SafeBytes, TooDeep
from backscroll_sidecar.importers.sources import opened
from backscroll_sidecar.importers.survey import messages, survey
from backscroll_sidecar.importers.times import Times
from tests.kit.examples import seeds

EXPORTS = Path(__file__).parents[1] / "data" / "exports"
FILES = sorted(one for one in EXPORTS.rglob("*") if one.is_file())
ODD = [
    None, True, 0, -1, 2**70, 1e308, -5.5, "", "x", "9" * 400, "\ud800", [], [None], [[]], {}, [{}],
    "2025-13-45T99:99:99", "1e999", "٠", "²", ["a"], {"a": 1},
]  # fmt: skip
PIECES = [
    b"\0", b"\xff\xfe", b"[", b"{", b"\r\n", b"\x85", b'"', b"99/99/9999, 99:99 - A: b\n", b"25:61 <x> y\n",
    b"2025-99-99 25:61 <x> y\n", b"[2025-02-30 10:00:00] <x> y\n", b"Feb 29 10:00:00 <a> b\n", b"\\ud83d",
]  # fmt: skip
ROUNDS = 14
PARTS = seeds(3, 1)


def changed(value, chance: random.Random):
    """The same JSON with some values of other kinds, and some fields gone."""
    if chance.random() < 0.05:
        return copy.deepcopy(chance.choice(ODD))
    if isinstance(value, dict):
        return {key: changed(one, chance) for key, one in value.items() if chance.random() > 0.02}
    return [changed(one, chance) for one in value] if isinstance(value, list) else value


def damaged(raw: bytes, chance: random.Random) -> bytes:
    """The same bytes with some gone, some more, or cut."""
    data = bytearray(raw)
    for _ in range(chance.randint(1, 5)):
        at = chance.randrange(len(data) + 1)
        what = chance.random()
        if what < 0.4:
            data[at:at] = chance.choice(PIECES)
        elif what < 0.8:
            del data[at : at + chance.randint(1, 20)]
        else:
            del data[at:]
    return bytes(data)


def read(path: Path) -> None:
    """As the command does; what it tells the user is fine, anything else is not."""
    options = Options("c", times=Times(first_day=date(2025, 7, 11)))
    try:
        with opened([str(path)]) as sources:
            for message in messages(survey(sources, options), options):
                message.SerializeToString()
    except (NotUnderstood, Unreadable):
        pass


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("file", FILES, ids=lambda one: one.name)
def test_values_of_other_kinds_cost_their_record(file, part, tmp_path):
    raw = file.read_bytes()
    try:
        records = [json.loads(raw)]
    except ValueError:
        if file.suffix != ".jsonl":
            pytest.skip("no JSON")
        records = [json.loads(line) for line in raw.splitlines()]
    chance = random.Random(f"{file.name} {part}")
    for _ in range(ROUNDS):
        lines = "\n".join(json.dumps(changed(one, chance)) for one in records)
        (tmp_path / file.name).write_text(lines)
        read(tmp_path / file.name)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("file", FILES, ids=lambda one: one.name)
def test_damaged_bytes_are_told(file, part, tmp_path):
    chance = random.Random(f"{file.name} {part}")
    for _ in range(ROUNDS):
        (tmp_path / file.name).write_bytes(damaged(file.read_bytes(), chance))
        read(tmp_path / file.name)


class Pieces(io.BytesIO):
    """A file that gives a few bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self._size = size

    def read(self, _size: int = -1) -> bytes:
        return super().read(self._size)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 64, 65_536])
def test_half_characters_become_marks_wherever_a_piece_ends(size):
    """Whole ones stay, and so does what only looks like one behind a backslash."""
    texts = {
        r"\ud83d\ude00": "😀", r"\ud83d": "\ufffd", r"\ude00": "\ufffd", r"\ud83d\ud83d\ude00": "\ufffd😀",
        r"\ude00\ud83d": "\ufffd\ufffd", r"\\ud83d": r"\ud83d", r"\\\ud83dx": "\\\ufffdx", r"\ud83d\n": "\ufffd\n",
        r"\ud83d\u4f60": "\ufffd你", r"\uD83D\uDE00\"": '😀"', r"[\"{\\": '["{\\', r"\\\\": "\\\\", "": "",
    }  # fmt: skip
    whole = "[" + ",".join(f'"{text}"' for text in texts) + "]"
    assert list(ijson.items(SafeBytes(Pieces(whole.encode(), size)), "item")) == [*texts.values()]


@pytest.mark.parametrize("size", [1, 7, 65_536])
def test_depth_is_bounded_by_brackets_outside_of_texts(size):
    def passes(text: str) -> bool:
        file = SafeBytes(Pieces(text.encode(), size))
        try:
            while file.read(size):
                pass
        except TooDeep:
            return False
        return True

    assert passes("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert not passes("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))
    assert not passes('{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1))
    assert not passes('[{"a":' * MAX_DEPTH)
    assert passes(json.dumps(["[" * 1_000, '\\"[' * 1_000, "\\" * 999]))
    assert passes("[" + ",".join('{"a":[{}]}' for _ in range(2_000)) + "]")
