"""Law 2: a channel in memory is a cache. However it came about, it equals one loaded from what is stored."""

import copy
from dataclasses import dataclass, field

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from backscroll_sidecar.channels import ChannelView, HotChannel
from backscroll_sidecar.domain import Analysis, MessageState, MessageType, Reply, StoredMessage
from backscroll_sidecar.ports import Applied
from tests.kit.chats import KEY, NOON_MS, PEOPLE, PlainCodec, say
from tests.kit.examples import examples
from tests.reference.lexical import rows_of as rows_of_term

WORDS = ["cat", "dog", "fish", "猫", "train"]
USERS = sorted(PEOPLE)


def rows_of(view: ChannelView) -> list[dict]:
    """The view row by row, in names: the numbers given to users, words and threads are nobody's business."""
    users = view.people.ids
    words = {number: word for word, number in view.keyword_ids.items()}
    threads = {number: thread for thread, number in view.thread_ids.items()}
    columns = view.columns
    lexicon = words_in(view)
    out = []
    for row in range(view.count):
        keywords = columns.keyword_ids[slice(*columns.keyword_offsets[row : row + 2])].tolist()
        mentions = columns.mention_ids[slice(*columns.mention_offsets[row : row + 2])].tolist()
        edges = (columns.parent[row], view.explicit_columns.parent[row])
        out.append({
            "id": view.message_ids[row],
            "row": view.row_of(view.message_ids[row]),
            "time_ms": int(columns.time_ms[row]),
            "author": users[columns.author[row]],
            "text": view.texts[row],
            "fragment": view.fragments[row],
            "parents": [view.message_ids[parent] if parent >= 0 else None for parent in edges],
            "lexicon": lexicon[row],
            "keywords": sorted(words[k] for k in keywords),
            "mentions": sorted(users[m] for m in mentions),
            "thread": threads[int(view.thread[row])],
            "numbers": [int(column[row]) for column in
                        (view.state, view.role, view.kind, view.message_type, view.token_count)],
        })  # fmt: skip
    return out


def words_in(view: ChannelView) -> list[set[str]]:
    """What the inverted index has of each row."""
    postings = view.lexicon.postings
    out: list[set[str]] = [set() for _ in range(view.count)]
    for word, number in view.lexicon.ids.items():
        if number < len(postings.tail):
            for row in rows_of_term(postings, number):
                if row < view.count:
                    out[row].add(word)
    return out


def frozen(view: ChannelView) -> tuple:
    """Everything of a view that may not change, copied."""
    arrays = [getattr(columns, name).copy() for columns in (view.columns, view.explicit_columns)
              for name in ("time_ms", "author", "parent", "keyword_offsets", "keyword_ids",
                           "mention_offsets", "mention_ids")]  # fmt: skip
    arrays += [
        getattr(view, name).copy()
        for name in ("state", "role", "kind", "message_type", "token_count", "thread")
    ]
    texts = [
        list(getattr(view, name)[: view.count]) for name in ("message_ids", "texts", "fragments")
    ]
    rows = {id: view.row_of(id) for id in texts[0]}
    return view.count, view.generation, arrays, texts, rows, rows_of(view)


def same(one: tuple, other: tuple) -> bool:
    arrays = zip(one[2], other[2], strict=True)
    return (
        all(np.array_equal(a, b) for a, b in arrays) and one[:2] + one[3:] == other[:2] + other[3:]
    )


@dataclass
class Truth:
    """What is stored, kept as plainly as can be, and what each change would publish."""

    rows: dict[str, StoredMessage] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    used: int = 0
    seq: int = 0

    def put(self, stored: StoredMessage) -> StoredMessage:
        self.rows[stored.message.id] = stored
        return stored

    def draw_row(self, draw: st.DrawFn, id: str) -> StoredMessage:
        author = PEOPLE[draw(st.sampled_from(USERS))]
        message = replace(say(id, author), thread_id=draw(st.sampled_from(["", "t1", "t2"])))
        self.seq += 1
        time_ms = NOON_MS + draw(st.one_of(st.just(self.seq * 1_000), st.integers(0, 20_000)))
        analysis = self.draw_analysis(draw, id)
        state = draw(st.sampled_from([MessageState.LIVE, MessageState.LIVE, MessageState.PARTIAL]))
        return self.put(StoredMessage(message, analysis, self.seq, time_ms, state=state))

    def draw_analysis(self, draw: st.DrawFn, id: str) -> Analysis:
        target = draw(st.one_of(st.none(), st.integers(0, self.used + 3)))
        if target is not None:
            target = self.aliases.get(f"m{target}", f"m{target}")
        reply = None if target is None else Reply(target, inferred=draw(st.booleans()))
        return Analysis(
            text=f"{id} says {draw(st.sampled_from(['1', '小猫', 'ねこ']))}",
            message_type=draw(st.sampled_from(MessageType)),
            mention_ids=tuple(
                draw(st.lists(st.sampled_from([*USERS, "u9"]), max_size=2, unique=True))
            ),
            keywords=tuple(draw(st.lists(st.sampled_from(WORDS), max_size=3, unique=True))),
            token_count=draw(st.integers(1, 9)),
            reply=reply,
        )

    def append(self, draw: st.DrawFn) -> Applied:
        first, self.used = self.used, self.used + draw(st.integers(1, 4))
        return Applied(stored=tuple(self.draw_row(draw, f"m{n}") for n in range(first, self.used)))

    def edit(self, draw: st.DrawFn) -> Applied:
        """A few edits in one commit; a row may be edited twice."""
        changed = []
        for id in draw(st.lists(st.sampled_from(sorted(self.rows)), min_size=1, max_size=3)):
            old = self.rows[id]
            if old.state is not MessageState.RECALLED:
                analysis = self.draw_analysis(draw, id)
                changed.append(self.put(replace(old, analysis=analysis, revision=old.revision + 1)))
        return Applied(stored=tuple(changed))

    def move(self, draw: st.DrawFn) -> Applied:
        """A late parent: some rows stand later than they did, beside rows that are new."""
        ids = draw(
            st.lists(st.sampled_from(sorted(self.rows)), min_size=1, max_size=3, unique=True)
        )
        moved = []
        for id in ids:
            old = self.rows[id]
            later = old.rank_time_ms + draw(st.integers(1, 20_000))
            moved.append(self.put(replace(old, rank_time_ms=later, moves=old.moves + 1)))
        moved.sort(key=lambda row: row.seq)
        return Applied(stored=(*moved, *self.append(draw).stored))

    def alias(self, draw: st.DrawFn) -> Applied:
        """Another id, of a row that is there; some rows may be waiting for it."""
        self.used += 1
        self.aliases[f"m{self.used - 1}"] = id = draw(st.sampled_from(sorted(self.rows)))
        return Applied(aliases=((f"m{self.used - 1}", id),), stored=self._answering(id))

    def _answering(self, id: str) -> tuple[StoredMessage, ...]:
        alias = f"m{self.used - 1}"
        found = []
        for old in list(self.rows.values()):
            reply = old.analysis.reply
            if reply is not None and reply.message_id == alias:
                analysis = replace(old.analysis, reply=replace(reply, message_id=id))
                found.append(self.put(replace(old, analysis=analysis, moves=old.moves + 1)))
        return tuple(found)

    def recall(self, draw: st.DrawFn) -> Applied:
        old = self.rows[draw(st.sampled_from(sorted(self.rows)))]
        analysis = Analysis("", old.analysis.message_type, reply=old.analysis.reply)
        new = replace(
            old,
            message=replace(old.message, parts=()),
            analysis=analysis,
            state=MessageState.RECALLED,
        )
        return Applied(stored=(self.put(new),))


@settings(max_examples=examples(200))
@given(st.data())
def test_a_hot_channel_equals_a_loaded_one(data):
    """Law 2: after any appends (late ones, late parents, circles), edits, recalls, moves and aliases columns, edges and
    texts in memory are those of a load (an erasure drops the channel); views taken on the way never change."""
    truth, draw = Truth(), data.draw
    live = HotChannel(KEY, PlainCodec())
    taken: list[tuple[ChannelView, tuple]] = []
    for _ in range(draw(st.integers(1, 12))):
        steps = (
            ["append", "append", "edit", "recall", "move", "alias"] if truth.rows else ["append"]
        )
        live.publish(getattr(truth, draw(st.sampled_from(steps)))(draw))
        if draw(st.booleans()):
            view = live.view()
            taken.append((view, copy.deepcopy(frozen(view))))
    stored = list(truth.rows.values())
    loaded = HotChannel(KEY, PlainCodec(), draw(st.permutations(stored)))
    loaded.take_aliases(tuple(truth.aliases.items()))
    assert rows_of(live.view()) == rows_of(loaded.view())
    assert len(live) == len(stored)
    assert live.revised == loaded.revised
    for alias, id in truth.aliases.items():
        rows = [(view.row_of(alias), view.row_of(id)) for view in (live.view(), loaded.view())]
        assert rows == [rows[0][1:] * 2] * 2
    for view, before in taken:
        assert same(frozen(view), before)


@given(st.data())
def test_publishing_twice_changes_nothing(data):
    """Law 2: a commit that a load already saw may be published again."""
    truth, draw = Truth(), data.draw
    steps = ["append"] * 3 + ["edit", "recall", "move", "alias"]
    changes = [getattr(truth, step)(draw) for step in steps]
    channel = HotChannel(KEY, PlainCodec(), list(truth.rows.values()))
    channel.take_aliases(tuple(truth.aliases.items()))
    before = rows_of(channel.view())
    for applied in changes:
        channel.publish(applied)
    assert rows_of(channel.view()) == before
