"""Messages as they are written for a model: once a message and style, kept with the channel from then on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, compress
from typing import NamedTuple, cast, overload

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.adapters import payload_name_alone, payload_names
from backscroll_sidecar.analyze import count_and_with_break, repeated_tokens, token_counter
from backscroll_sidecar.channels import ChannelView, shown_id
from backscroll_sidecar.domain import (
    AuthorKind,
    NeutralMessage,
    Role,
    SpeakerStyle,
    StoredSystemRows,
    TextPart,
    TimeStyle,
    TokenizerName,
)
from backscroll_sidecar.lines.escaping import escape, shown_parts
from backscroll_sidecar.lines.line_format import (
    MS_PER_DAY,
    LineStyle,
    Said,
    indent,
    line_prefix,
    outside,
    time_mark,
)
from backscroll_sidecar.lines.names import has_mention_token, with_mentions

MESSAGE_TOKENS = 4
"""Framing of one chat message: three marks and the role (OpenAI's published count for o200k models)."""
NAME_TOKENS = 1
"""What the field of a name adds to its message in a payload that has names, beside the name."""
WRITTEN_BYTES, WRITTEN_BYTES_PER_CHAR = 1_200, 12
"""Rough bytes of a written message once it is encoded, too: its objects, and a character in six texts (measured on
the shipped chats: 1,900 a message)."""
WRITE_US, WRITE_US_PER_CHAR = 15.0, 0.15
"""Rough microseconds to write a message, measured there on a busy core."""

_ROLES = {int(one): one for one in Role}
_KINDS = {int(one): one for one in AuthorKind}
_USER, _ASSISTANT, _SYSTEM = Role.USER, Role.ASSISTANT, Role.SYSTEM
_AS_SYSTEM, _O200K = StoredSystemRows.SYSTEM, TokenizerName.O200K
_RELATIVE, _ISO_DATE = TimeStyle.RELATIVE, TimeStyle.ISO_DATE


class Pen(NamedTuple):
    """All that the written form of a message depends on, besides the message and the time mark before it.

    `self_ids` are the bot's own ids: whose lines are the model's own. `keep_control`: control tokens in texts stay.
    `system_rows`: those of ROLE_SYSTEM are lines of the chat unless it is SYSTEM.
    """

    speaker: SpeakerStyle
    tokenizer: TokenizerName = TokenizerName.O200K
    with_names: bool = False
    self_ids: tuple[str, ...] = ()
    keep_control: bool = False
    system_rows: StoredSystemRows = StoredSystemRows.USER

    def write(self, said: Said, mark: str = "", fragment: bytes = b"") -> Written:
        """The message in both forms, counted."""
        counter, whole = token_counter(self.tokenizer), said.whole
        prefix, text_cost = line_prefix(said, self.speaker, mark), self._text_cost(said)
        line = prefix + indent(whole)
        line_cost = text_cost + whole.count("\n") + repeated_tokens(prefix, self.tokenizer)
        if outside(said, self.speaker):
            content, turn_cost = mark + whole, text_cost + repeated_tokens(mark, self.tokenizer)
            turn_tokens, line_tokens = counter.count(content), counter.count(line + "\n")
        else:
            content, turn_cost = line, line_cost
            turn_tokens, line_tokens = count_and_with_break(counter, line)
        name = "" if said.is_own or said.role is _SYSTEM else said.author_name or said.author_id
        author_id = said.author_id if name else ""
        turn = NeutralMessage(
            said.rendered_role, content, name, (said.message_id,), author_id=author_id
        )
        turn_tokens += MESSAGE_TOKENS
        turn_cost += MESSAGE_TOKENS
        if self.with_names:
            turn_cost += names_tokens((turn,), self.tokenizer)
        return Written(
            said, self, mark, fragment, turn, turn_cost, turn_tokens, line, line_tokens, line_cost
        )  # fmt: skip

    def _text_cost(self, said: Said) -> int:
        """An upper bound for the text: the count stored with the message, where it is still its own.

        BPE counts of pieces add up to at least the count of the whole for such joins; the recount in `budget.fit` has
        the last word anyway.
        """
        if self.tokenizer is _O200K and said.token_count and not said.truncated:
            return said.token_count
        return token_counter(self.tokenizer).count(said.whole + "\n")


def names_tokens(messages: Sequence[NeutralMessage], tokenizer: TokenizerName) -> int:
    """What names add to a payload of these messages: each its own tokens and those of the field."""
    return sum(_name_tokens(name, tokenizer) for name in payload_names(messages))


def shared_names_tokens(messages: Sequence[NeutralMessage], tokenizer: TokenizerName) -> list[int]:
    """What each name adds, beyond what it would alone, where it is several people's: then another stands for it."""
    together, alone = payload_names(messages), map(payload_name_alone, messages)
    return [
        max(0, _name_tokens(one, tokenizer) - _name_tokens(own, tokenizer))
        for one, own in zip(together, alone, strict=True)
    ]


def _name_tokens(name: str, tokenizer: TokenizerName) -> int:
    return NAME_TOKENS + repeated_tokens(name, tokenizer) if name else 0


@dataclass(frozen=True, slots=True)
class Written:
    r"""One message in one style.

    Attributes
    ----------
    fragment : bytes
        The message's wire form.
    turn, turn_tokens, turn_cost : the message of its own, the tokens it adds to a payload without names, and the most
        it adds to one, with its name where nobody else there has that.
    line, line_tokens, line_cost : the line among others, the tokens of ``line + "\n"``, the most it adds.
    forms : the bytes of whoever encodes it, by a name of its own; no part of its value.
    """

    said: Said
    pen: Pen
    mark: str
    fragment: bytes
    turn: NeutralMessage
    turn_cost: int
    turn_tokens: int
    line: str
    line_tokens: int
    line_cost: int
    forms: dict[str, bytes] = field(default_factory=dict, init=False, compare=False, repr=False)

    def telling(self, said: Said) -> Written:
        """The same message with something else, or less, to tell."""
        return self.pen.write(said, self.mark, self.fragment)

    def form(self, form: str, make: Callable[[Written], bytes]) -> bytes:
        """What `make` makes of it; it stays under the name `form`."""
        made = self.forms.get(form)
        if made is None:
            made = self.forms[form] = make(self)
        return made

    @property
    def nbytes(self) -> int:
        """Bytes it takes, roughly."""
        return WRITTEN_BYTES + WRITTEN_BYTES_PER_CHAR * len(self.line)


class Shown(Sequence[Written]):
    """Written messages in the order in which they are shown."""

    __slots__ = ("_tokens", "written")

    def __init__(self, written: list[Written]) -> None:
        self.written = written
        self._tokens = -1

    @property
    def tokens(self) -> int:
        """What the messages add to a payload, each a message of its own."""
        if self._tokens < 0:
            self._tokens = sum([one.turn_tokens for one in self.written])
        return self._tokens

    def forms(self, form: str, make: Callable[[Written], bytes]) -> list[bytes]:
        """What `make` makes of each; it stays with the message under the name `form`."""
        try:
            return [one.forms[form] for one in self.written]
        except KeyError:
            return [one.form(form, make) for one in self.written]

    def where(self, marks: list[bool]) -> Shown:
        """Those that are marked."""
        return Shown(list(compress(self.written, marks)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shown) and self.written == other.written

    def __hash__(self) -> int:
        return len(self.written)

    def __len__(self) -> int:
        return len(self.written)

    @overload
    def __getitem__(self, index: int) -> Written: ...
    @overload
    def __getitem__(self, index: slice) -> list[Written]: ...
    def __getitem__(self, index: int | slice) -> Written | list[Written]:
        return self.written[index]


NOTHING_SHOWN = Shown([])


@dataclass(slots=True)
class Drafts:
    """Rows of a view to be written in one style. `found` has None for those not written in it before."""

    view: ChannelView
    rows: NDArray[np.int32]
    pen: Pen
    style: LineStyle
    found: list[Written | None]

    def left_us(self) -> float:
        """Microseconds that `finish` takes, predicted."""
        return 0.0 if all(self.found) else sum(self.each_us())

    def first(self, count: int) -> Drafts:
        """The first of them."""
        return Drafts(self.view, self.rows[:count], self.pen, self.style, self.found[:count])

    def within(self, us: float) -> Drafts:
        """The first of them, as many as are finished in that time."""
        return self.first(sum(so_far <= us for so_far in accumulate(self.each_us())))

    def each_us(self) -> list[float]:
        """Microseconds that each takes, predicted."""
        texts, rows = self.view.texts, self.rows.tolist()
        return [
            0.0 if one is not None else WRITE_US + WRITE_US_PER_CHAR * len(texts[row])
            for row, one in zip(rows, self.found, strict=True)
        ]

    def finish(self, *, kept: bool = True) -> Shown:
        """The rows as they are written, `kept` for the next build."""
        found = self.found
        if not all(found):
            for at, one in enumerate(found):
                if one is None:
                    found[at] = self._write(at, kept=kept)
        return Shown(cast("list[Written]", found))

    def _write(self, at: int, *, kept: bool) -> Written:
        view, own, row = self.view, self.pen.self_ids, self.rows.item(at)
        role, author_id = _ROLES[view.role.item(row)], view.author_id(row)
        if role is _SYSTEM and self.pen.system_rows is not _AS_SYSTEM:
            role = _USER
        text = row_text(view, row, keep_control=self.pen.keep_control)
        said = Said(
            shown_id(view.message_ids[row]),
            role,
            role is _ASSISTANT and (not own or author_id in own),
            author_id,
            view.author_name(row),
            _KINDS[view.kind.item(row)],
            text,
            view.columns.time_ms.item(row),
            token_count=view.token_count.item(row) if text is view.texts[row] else 0,
        )
        mark = time_mark(said.sent_at_ms, self.style)
        made = self.pen.write(said, mark, view.fragments[row])
        if kept:
            sheet = _sheet(self.pen, self.style, mark)
            view.written.keep(sheet, view.seq.item(row), made, made.nbytes)
        return made


def row_text(view: ChannelView, row: int, *, keep_control: bool) -> str:
    """The text of a row as it may be shown: its own marks, and none that was typed; names for tokens of mentions."""
    text = view.texts[row]
    mentions = view.mentions(row) if has_mention_token(text) else ()
    if view.is_text(row):
        named = with_mentions(text, mentions, view.people) if mentions else text
        return escape(named, keep_control=keep_control)
    parts = view.parts(row)
    if mentions:
        parts = [
            TextPart(with_mentions(one.text, mentions, view.people))
            if isinstance(one, TextPart)
            else one
            for one in parts
        ]
    shown = shown_parts(parts, keep_control=keep_control)
    return text if shown == text else shown


def draft(view: ChannelView, rows: NDArray[np.int32], style: LineStyle, pen: Pen) -> Drafts:
    """What is there of ascending rows in this style."""
    seqs: list[int] = view.seq[rows].tolist()
    times, of = view.columns.time_ms, view.written.of
    if style.time is _RELATIVE:
        marks = [time_mark(at_ms, style) for at_ms in times[rows].tolist()]
        pairs = zip(seqs, marks, strict=True)
        found = [of(_sheet(pen, style, mark)).get(seq) for seq, mark in pairs]
        return Drafts(view, rows, pen, style, found)
    dated = 0
    if style.time is _ISO_DATE:
        dated = len(seqs)
    elif style.time is None and seqs:
        day_before_ms = style.asked_at_ms - MS_PER_DAY
        if times.item(rows.item(0)) < day_before_ms:
            dated = int(times[rows].searchsorted(day_before_ms))
    found = list(map(of((pen, "")).get, seqs[dated:]))
    if dated:
        found[:0] = map(of((pen, style.zone)).get, seqs[:dated])
    return Drafts(view, rows, pen, style, found)


def _sheet(pen: Pen, style: LineStyle, mark: str) -> Hashable:
    """Where a message of this mark is kept: a date is the same in one time zone whenever it is asked for."""
    is_dated = mark and style.time is not _RELATIVE
    return (pen, style.zone) if is_dated else (pen, mark)
