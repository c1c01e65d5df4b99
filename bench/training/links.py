"""Fit the reply model: `python -m bench.training.links --data DIR` writes the package's weights file again.

Deterministic: fixed seeds, one thread, weights rounded. `--hold-out` leaves every sixth file out and prints figures
for it; `--slice N` takes every N-th file (for tests and quick looks).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring.link_columns import COLUMNS, CONVERSATION, FAMILIES, START
from backscroll_scoring.link_model import WEIGHTS_FILE, Linear, LinkModel
from backscroll_scoring.links import FIRST_LINKS, chances
from bench.training.columns import Example, add_conversations, arrays_of, examples
from bench.training.data import Group, Variant, chat, load, mixed
from bench.training.fit import listwise, listwise_all, logistic

VARIANTS = (
    Variant(), Variant(clock="jitter"), Variant(keep_names=0.5, clock="jitter"), Variant(), Variant(clock="scaled"),
    Variant(explicit=0.6, strip_explicit=True, clock="jitter"), Variant(), Variant(keep_names=0.5),
    Variant(clock="scaled", explicit=0.3), Variant(keep_names=0.2, clock="scaled"),
)  # fmt: skip
"""What is done to the training chats, in turn: no clock and no habit of naming may be relied on."""
JUDGES = 4
"""Chinese groups, the last ones, that nothing is fitted on: they judge."""
IDENTIFIER = 12.0
"""What the newest line with an identifier of the question is worth. Set, not fitted: the data hardly have such answers,
and made-up ones among them cost all others."""
ROOMS_A_GROUP = 4
"""Mixed rooms of each Chinese group: it and an IRC channel; every second time in the channel's time."""
L2 = 1e-5
TOP_SECOND = 40
LINK_IN_TAIL = 0.1
ABOUT = (
    "Reply model of Backscroll, fitted by bench/training/links.py on Ubuntu IRC conversations "
    "(jkkummerfeld/irc-disentanglement @82ed04f, data/train, CC BY 4.0) and KdConv dialogues interleaved into groups "
    "(thu-coai/KdConv @653db76, Apache-2.0). share = weight * (value - mean) / scale."
)
NOT_FITTED = Linear(*np.zeros((2, len(COLUMNS) + len(CONVERSATION))), 0.0)
Fitted = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]
Groups = list[tuple[str, Group]]
Loaded = list[tuple[Any, list[Example]]]


def main(argv: Sequence[str] | None = None) -> int:
    """Read, fit, write; prints what it does."""
    parser = argparse.ArgumentParser(description=__doc__)
    data = os.environ.get("QUALITY_DATA")
    parser.add_argument(
        "--data",
        type=Path,
        default=data,
        required=not data,
        help="folder of the sets; see README.md",
    )
    parser.add_argument("--out", type=Path, default=WEIGHTS_FILE)
    parser.add_argument(
        "--hold-out", action="store_true", help="leave every sixth file out and judge on it"
    )
    parser.add_argument("--slice", type=int, default=1, help="every N-th file only")
    parser.add_argument("--every", type=int, default=2, help="every N-th annotated message only")
    parser.add_argument("--steps", type=int, default=140, help="steps of each fit")
    options = parser.parse_args(argv)
    began = time.monotonic()
    train, held = read(options.data, options.slice, options.every, hold_out=options.hold_out)
    say(began, f"{sum(len(found) for _, found in train)} examples of {len(train)} chats")
    fitted = fit(train, options.steps, lambda text: say(began, text))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(as_json(fitted), encoding="utf-8")
    say(began, f"wrote {options.out} ({options.out.stat().st_size} bytes)")
    if options.hold_out:
        model = model_of(fitted)
        for name, chats in held.items():
            judge(name, chats, model)
    return 0


def say(began: float, text: str) -> None:
    """One line with the seconds since the start."""
    print(f"{time.monotonic() - began:6.0f} s  {text}", file=sys.stderr, flush=True)


def read(
    folder: Path, step: int, every: int, *, hold_out: bool
) -> tuple[Loaded, dict[str, Loaded]]:
    """Training chats with their variants, and held-out ones as they are and with reply buttons."""
    irc = [item for item in load(folder, "irc_train").items() if item[1][1]]
    zh = list(load(folder, "kdconv_mix_dev").items())
    train_irc = [item for at, item in enumerate(irc) if not (hold_out and at % 6 == 5)][::step]
    train_zh, judging_zh = zh[:-JUDGES], zh[-JUDGES:]
    rooms = _rooms(train_zh, train_irc)
    train = _chats(train_irc, VARIANTS, every)
    train += _chats(train_zh, (Variant(), Variant(clock="scaled")), every)
    train += _chats(rooms, (Variant(), Variant(keep_names=0.7)), 2 * every)
    held: dict[str, Loaded] = {}
    if hold_out:
        val = [item for at, item in enumerate(irc) if at % 6 == 5][::2]
        dev = list(load(folder, "irc_dev").items())
        held = {
            "val": _chats(val, (Variant(),), 1),
            "dev": _chats(dev, (Variant(),), 1),
            "dev, explicit": _chats(dev, (Variant(explicit=1.0),), 1),
            "zh": _chats(judging_zh, (Variant(),), 1),
            "room zh, irc": _chats(_with(judging_zh, dev), (Variant(),), 1),
            "room zh, zh": _chats(_with(judging_zh[:2], judging_zh[2:]), (Variant(),), 1),
            "the same people": _chats(
                _with(judging_zh[:2], judging_zh[2:], same_people=True), (Variant(),), 1
            ),
            "identifiers": _chats(dev + judging_zh, (Variant(identifiers=0.2),), 1),
            "half the names": _chats(dev, (Variant(keep_names=0.5),), 1),
        }
    return train, held


def _rooms(zh: Groups, irc: Groups) -> Groups:
    """Two groups in one room: a Chinese one and an IRC channel, and two Chinese ones."""
    rooms: Groups = []
    for i in range(ROOMS_A_GROUP):
        part = irc[i * len(zh) : (i + 1) * len(zh)]
        rooms += _with(zh, part) if i % 2 == 0 else _with(part, zh)
    turned = zh[1:] + zh[:1]
    return rooms + _with(zh, turned) + _with(zh[::2], turned[1::2], same_people=True)


def _with(some: Groups, others: Groups, *, same_people: bool = False) -> Groups:
    return [
        (f"{name} + {other}", mixed(one, two, same_people=same_people))
        for (name, one), (other, two) in zip(some, others, strict=False)
    ]


def _chats(items: Groups, variants: Sequence[Variant], every: int) -> Loaded:
    out: Loaded = []
    for at, (name, (messages, queries)) in enumerate(items):
        if queries:
            one = chat(name, messages, queries, variants[at % len(variants)], at)
            arrays = arrays_of(one)
            out.append((arrays, examples(one, arrays, every)))
    return out


def fit(train: Loaded, steps: int, tell: Callable[[str], None]) -> dict[str, Fitted]:
    """The four models, one after the other: each sees what the ones before it found."""
    every = [one for _, found in train for one in found]
    answers = [one for one in every if one.gold.any()]
    first = _listwise([one.x for one in answers], answers, L2, steps)
    tell("first stage fitted")
    model = LinkModel(
        _linear(first), NOT_FITTED, NOT_FITTED, Linear(*np.zeros((2, len(START))), 0.0)
    )
    start = _start(every, model)
    model = replace(model, start=_linear(start))
    for arrays, found in train:
        add_conversations(arrays, found, model)
    tell("conversations known")
    kept = [
        one for one in answers if one.starts_new > 0.0
    ]  # a known edge teaches the second stage nothing
    second = _second(kept, steps)
    tell("second stage fitted")
    tail = _tail(
        [one for one in answers if one.judged.any() and one.belongs[one.judged].any()],
        second,
        steps,
    )
    tell("tail fitted")
    for _, scales, weights, _ in (first, second):
        for name in FAMILIES["identifiers"]:
            place = COLUMNS.index(name)
            weights[place] = IDENTIFIER * scales[place] if name == "identifier_newest" else 0.0
    return {"first": first, "second": second, "tail": tail, "start": start}


def _weights_of(found: Sequence[Example]) -> NDArray[np.float64]:
    zh = sum(one.group.startswith("kd") for one in found)
    share = 0.25 * (len(found) - zh) / max(1, zh)
    return np.array([min(1.0, share) if one.group.startswith("kd") else 1.0 for one in found])


def _standardised(x: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and scales; scales `x` in place."""
    means, scales = x.mean(0, dtype=np.float64), x.std(0, dtype=np.float64)
    scales[scales < 1e-6] = 1.0
    x -= means.astype(np.float32)
    x /= scales.astype(np.float32)
    return means, scales


def _offsets(parts: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    return np.cumsum([0] + [len(part) for part in parts]).astype(np.int64)


def _listwise(
    parts: list[NDArray[np.float32]], found: list[Example], l2: float, steps: int
) -> Fitted:
    x = np.concatenate(parts)
    means, scales = _standardised(x)
    gold = np.concatenate([one.gold for one in found])
    weights = listwise(x, _offsets(parts), gold, _weights_of(found), l2, steps)
    return means, scales, weights, 0.0


def _second(found: list[Example], steps: int) -> Fitted:
    """Fitted on the likeliest candidates of the first stage: the others are decided."""
    cut = []
    for one in found:
        assert one.p is not None
        keep = np.sort(np.argsort(-one.p, kind="stable")[:TOP_SECOND])
        if one.gold[keep].any():
            assert one.more is not None
            cut.append(
                replace(
                    one,
                    x=one.x[keep],
                    more=one.more[keep],
                    gold=one.gold[keep],
                    rows=one.rows[keep],
                )
            )
    return _listwise([one.both for one in cut], cut, L2, steps)


def _tail(found: list[Example], second: Fitted, steps: int) -> Fitted:
    """Order by a listwise fit and a little of the link; scale and constant by a logistic fit: a probability.

    The likeliest links are shown with their own probability, so the scale is that of the others.
    """
    parts = [one.both[one.judged] for one in found]
    x = np.concatenate(parts)
    means, scales = _standardised(x)
    gold = np.concatenate([one.belongs[one.judged] for one in found])
    weight = _weights_of(found)
    offsets = _offsets(parts)
    order = listwise_all(x, offsets, gold, weight, L2, steps)
    order += LINK_IN_TAIL * second[2] / second[1] * scales
    flat = [
        len(COLUMNS) + CONVERSATION.index(name)
        for name in ("starts_new", "size_for_me", "link_mine")
    ]
    order[flat] = 0.0
    seen = np.concatenate([(x @ order.astype(np.float32))[:, None], x[:, flat]], axis=1)
    rest = np.concatenate([_behind_links(one, _linear(second))[one.judged] for one in found])
    repeated = np.repeat(weight, np.diff(offsets))
    scaled = logistic(seen[rest], gold[rest], repeated[rest], L2, steps)
    weights = order * scaled[0]
    weights[flat] += scaled[1:-1]
    return means, scales, weights, float(scaled[-1])


def _behind_links(one: Example, second: Linear) -> NDArray[np.bool_]:
    """Which candidates are not among the likeliest links."""
    link = one.both.astype(np.float64) @ second.weights
    behind = np.ones(len(link), np.bool_)
    behind[np.lexsort((-one.rows, -link))[:FIRST_LINKS]] = False
    return behind


def _start(found: list[Example], model: LinkModel) -> Fitted:
    for one in found:
        chances(
            one.x.astype(np.float64) @ model.first.weights + model.first.intercept,
            one.start,
            model.start,
        )
    x = np.array([one.start for one in found], np.float32)
    y = np.array([not one.ask.gold for one in found])
    means, scales = _standardised(x)
    weights = logistic(x, y, np.ones(len(y)), 1e-4, 100)
    return means, scales, weights[:-1], float(weights[-1])


def _linear(fitted: Fitted) -> Linear:
    means, scales, weights, constant = fitted
    return Linear(weights / scales, means, constant)


def model_of(fitted: dict[str, Fitted]) -> LinkModel:
    """The model that was fitted."""
    return LinkModel(*(_linear(fitted[name]) for name in ("first", "second", "tail", "start")))


def as_json(fitted: dict[str, Fitted]) -> str:
    """The weights file: readable, rounded to six digits, one column a line."""
    names = {
        "first": COLUMNS,
        "second": COLUMNS + CONVERSATION,
        "tail": COLUMNS + CONVERSATION,
        "start": START,
    }
    lines = ["{", f' "about": {json.dumps(ABOUT)},', ' "models": {']
    for at, (model, (means, scales, weights, constant)) in enumerate(fitted.items()):
        lines += [f'  "{model}": {{', f'   "constant": {constant:.6g},', '   "columns": {']
        rows = zip(names[model], means.tolist(), scales.tolist(), weights.tolist(), strict=True)
        lines.append(
            ",\n".join(
                f'    "{name}": {{"mean": {mean:.6g}, "scale": {scale:.6g}, "weight": {weight:.6g}}}'
                for name, mean, scale, weight in rows
            )
        )
        lines.append("   }}" + ("," if at < len(fitted) - 1 else ""))
    return "\n".join([*lines, " }", "}", ""])


def judge(name: str, chats: Loaded, model: LinkModel) -> None:
    """Judge all messages, and, where groups of both languages share a room, those of each."""
    for arrays, found in chats:
        add_conversations(arrays, found, model)
    every = [(arrays, one) for arrays, found in chats for one in found]
    zh = [one.ask.group.startswith("kd") for _, one in every]
    parts = {name: every}
    if any(zh) and not all(zh):
        parts = {
            f"{name}: {part}": [
                one for one, is_zh in zip(every, zh, strict=True) if is_zh == wanted
            ]
            for part, wanted in (("zh", True), ("irc", False))
        }
    for part, asked in parts.items():
        tell_figures(part, asked, model)


def tell_figures(name: str, asked: Sequence[tuple[Any, Example]], model: LinkModel) -> None:
    """Print hit@1, 5, 10 and the capped conversation recall@20 of the final list, and how starts are told."""
    hits: dict[int, list[bool]] = {1: [], 5: [], 10: []}
    recall, starts, said = [], [], []
    for arrays, one in asked:
        starts.append(not one.ask.gold)
        said.append(one.starts_new)
        if not one.ask.gold:
            continue
        rows = one.rows[order(one, model, int(arrays.parent[one.ask.row]))]
        for k, out in hits.items():
            out.append(bool(np.isin(rows[:k], one.ask.gold).any()))
        if one.ask.conversation:
            recall.append(
                np.isin(rows[:20], one.ask.conversation).sum() / min(20, len(one.ask.conversation))
            )
    is_start, p0 = np.array(starts), np.array(said)
    figures = " ".join(f"{np.mean(out):.4f}" for out in hits.values())
    wrong = np.mean(p0[~is_start] > 0.5)
    right = np.mean(p0[is_start] > 0.5) if is_start.any() else float("nan")
    print(
        f"{name:24} {figures} {np.mean(recall):.4f}   starts: false {wrong:.3f}, found {right:.3f}",
        flush=True,
    )


def order(one: Example, model: LinkModel, parent: int) -> NDArray[np.intp]:
    """The final list: a known parent, the likeliest links, the rest by the tail."""
    x = one.both.astype(np.float64)
    link = x @ model.second.weights
    link[one.rows == parent] = np.inf
    tail = x @ model.tail.weights
    by_link = np.lexsort((-one.rows, -link))
    rest = by_link[FIRST_LINKS:]
    return np.concatenate([by_link[:FIRST_LINKS], rest[np.lexsort((-one.rows[rest], -tail[rest]))]])


if __name__ == "__main__":
    sys.exit(main())
