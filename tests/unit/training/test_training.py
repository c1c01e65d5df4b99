"""The weights file is a product of a command: same data, same bytes; its fits find what they are asked to find."""

import gzip
import json

import numpy as np
import pytest

from backscroll_scoring.link_columns import COLUMNS, CONVERSATION
from backscroll_scoring.link_model import load
from bench.training import links
from bench.training.data import Variant, chat, mixed
from bench.training.fit import listwise, listwise_all, logistic

PEOPLE = ["ann", "ben", "cat", "dan"]


def write_set(folder, name, groups, lines):
    """Made-up talk in which everybody answers the one named, else the line before."""
    rng = np.random.default_rng(len(name))
    messages, queries = [], []
    for group in range(groups):
        newest = {}
        for n in range(lines):
            author = PEOPLE[int(rng.integers(4))]
            other = PEOPLE[int(rng.integers(4))]
            named = other in newest and other != author
            answers = newest[other] if named else n - 1
            gid = f"{name}-{group}"
            messages.append({
                "message_id": f"{gid}:{n}", "group_id": gid, "user_id": author, "name": author,
                "content": f"{other}: yes, line {n}" if named else f"what about {n}?",
                "timestamp": 1_700_000_000_000 + n * 20_000, "mentions": [other] if named else [],
                "explicit_reply_to": f"{gid}:{answers}" if named else None,
            })  # fmt: skip
            newest[author] = n
            if n >= 10 and n % 6:
                queries.append({
                    "task": "reply", "group_id": gid, "message_id": f"{gid}:{n}", "gold": [f"{gid}:{answers}"],
                    "conversation": [f"{gid}:{answers}", f"{gid}:{max(0, answers - 3)}"], "judged_from": f"{gid}:5",
                })  # fmt: skip
    for kind, rows in (("messages", messages), ("queries", queries)):
        with gzip.open(folder / f"{name}.{kind}.jsonl.gz", "wt", encoding="utf-8") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_set(folder, "irc_train", 8, 60)
    write_set(folder, "irc_dev", 1, 60)
    write_set(folder, "kdconv_mix_dev", 9, 30)
    return folder


def test_the_command_writes_the_same_file_again(data, tmp_path):
    """Training is one command that writes the same file again; the package can read it."""
    for name in ("one.json", "two.json"):
        assert (
            links.main(["--data", str(data), "--out", str(tmp_path / name), "--steps", "12"]) == 0
        )
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    model = load(tmp_path / "one.json")
    assert len(model.second.weights) == len(COLUMNS) + len(CONVERSATION)
    named = model.first.weights[COLUMNS.index("named")]
    assert named > 0  # who is named is answered, in this talk always


def test_figures_of_what_was_held_out(data, tmp_path, capsys):
    """The held-out talk follows the same rule, so that a model that learnt it finds the answered line."""
    links.main(
        ["--data", str(data), "--out", str(tmp_path / "m.json"), "--steps", "12", "--hold-out"]
    )
    figures = {
        line[:24].strip(): line[24:].split() for line in capsys.readouterr().out.splitlines()
    }
    rooms = {
        "room zh, irc: zh",
        "room zh, irc: irc",
        "room zh, zh",
        "identifiers: zh",
        "identifiers: irc",
    }
    assert {"val", "dev", "dev, explicit", "zh", *rooms} <= set(figures)
    assert float(figures["dev"][1]) > 0.95  # hit@5 of some 50 lines before


def test_variants_change_what_they_say():
    rows = [
        {"message_id": f"m{n}", "user_id": PEOPLE[n % 3], "name": PEOPLE[n % 3], "content": "ann: hello ann",
         "timestamp": 60_000 * (n // 4), "mentions": ["ann"], "explicit_reply_to": f"m{n - 1}" if n else None}
        for n in range(40)
    ]  # fmt: skip
    plain = chat("c", rows, [], Variant(), 0).view
    nameless = chat("c", rows, [], Variant(keep_names=0.0), 0).view
    buttons = chat("c", rows, [], Variant(explicit=1.0, strip_explicit=True), 0).view
    jitter = chat("c", rows, [], Variant(clock="jitter"), 0).view
    assert len(plain.columns.mention_ids) == 40
    assert len(nameless.columns.mention_ids) == 0
    assert nameless.texts[0] == "hello"
    assert (buttons.explicit_columns.parent[1:] == np.arange(39)).all()
    assert (plain.explicit_columns.parent == -1).all()
    assert (np.diff(jitter.columns.time_ms) >= 0).all()
    assert (jitter.columns.time_ms // 60_000 == plain.columns.time_ms // 60_000).all()
    assert jitter.columns.time_ms.tolist() != plain.columns.time_ms.tolist()


def test_fits_find_the_planted_weights():
    rng = np.random.default_rng(1)
    truth = np.array([2.0, -1.0, 0.0])
    lists, size = 3_000, 8
    x = rng.normal(size=(lists * size, 3)).astype(np.float32)
    offsets = np.arange(0, lists * size + 1, size)
    scores = (x @ truth).reshape(lists, size) + rng.gumbel(size=(lists, size))
    gold = np.zeros((lists, size), bool)
    gold[np.arange(lists), scores.argmax(1)] = True
    even = np.ones(lists)
    assert listwise(x, offsets, gold.ravel(), even, 1e-6, 60) == pytest.approx(truth, abs=0.1)
    assert listwise_all(x, offsets, gold.ravel(), even, 1e-6, 60) == pytest.approx(truth, abs=0.1)
    y = rng.random(lists * size) < 1 / (1 + np.exp(-(x @ truth + 0.5)))
    assert logistic(x, y, np.ones(len(y)), 1e-6, 60) == pytest.approx([*truth, 0.5], abs=0.1)


def rows_of(name, times, author="ann"):
    """Some lines of a group, and a query about the last."""
    messages = [
        {"message_id": f"{name}:{n}", "group_id": name, "user_id": author, "name": author, "content": f"line {n}",
         "timestamp": time}
        for n, time in enumerate(times)
    ]  # fmt: skip
    query = {
        "task": "reply", "group_id": name, "message_id": f"{name}:{len(times) - 1}", "gold": [f"{name}:0"],
        "conversation": None, "judged_from": f"{name}:0",
    }  # fmt: skip
    return messages, [query]


def test_two_groups_in_one_room():
    """Interleaved by the first one's clock, no two lines at once, people apart, and the answers those they were."""
    one, other = rows_of("a", [0, 1_000, 4_000]), rows_of("b", [70_000, 80_000, 90_000])
    messages, queries = mixed(one, other)
    assert [row["message_id"] for row in messages] == ["a:0", "b:0", "a:1", "b:1", "a:2", "b:2"]
    assert [row["timestamp"] for row in messages] == [0, 1, 1_000, 2_000, 4_000, 4_001]
    assert {row["user_id"] for row in messages} == {"ann", "ann~"}
    room = chat("room", messages, queries, Variant(), 0)
    assert [(ask.row, ask.gold, ask.group) for ask in room.asks if ask.gold] == [
        (4, (0,), "a"), (5, (1,), "b")
    ]  # fmt: skip
    assert {ask.row for ask in room.asks if not ask.gold} == {0, 1, 2, 3}
    same, _ = mixed(one, other, same_people=True)
    assert {row["user_id"] for row in same} == {"ann"}


def test_answers_moved_to_the_line_that_names_the_same():
    messages, queries = rows_of("a", [n * 1_000 for n in range(40)])
    room = chat("room", messages, queries, Variant(identifiers=1.0), 0)
    (moved,) = [ask for ask in room.asks if ask.gold]
    texts = [room.view.texts[row] for row in (moved.row, moved.gold[0])]
    assert moved.row - moved.gold[0] >= 8
    added = [
        set(text.split()) - {"line", str(row)}
        for text, row in zip(texts, (moved.row, *moved.gold), strict=True)
    ]
    assert added[0] == added[1] != set()
    plain = chat("room", messages, queries, Variant(), 0)
    assert [ask.gold for ask in plain.asks if ask.gold] == [(0,)]
