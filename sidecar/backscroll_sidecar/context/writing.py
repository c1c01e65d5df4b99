"""Messages as they are written for a model: once a message and style, kept with the channel from then on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple, cast, overload

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.adapters import safe_name
from backscroll_sidecar.analyze import repeated_tokens, token_counter
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.channels.written import Written as Store
from backscroll_sidecar.context.lines import (
    MS_PER_DAY,
    LineStyle,
    Said,
    outside,
    render_line,
    speaker,
    time_mark,
)
from backscroll_sidecar.domain import (
    AuthorKind,
    NeutralMessage,
    Role,
    SpeakerStyle,
    TimeStyle,
    TokenizerName,
)
from backscroll_sidecar.values import quick

MESSAGE_TOKENS = 4
"""Framing of one chat message: three marks and the role (OpenAI's published count for o200k models)."""
NAME_TOKENS = 1
WRITTEN_BYTES, WRITTEN_BYTES_PER_CHAR = 800, 6
"""Rough bytes of a written message: its objects, and a character in three texts."""
FORM_BYTES = 130
"""Rough bytes that one form of it takes besides its own."""
NOT_KEPT = -1
"""The key of a message that is written for one build alone."""
WRITE_US, WRITE_US_PER_CHAR = 25.0, 0.15
"""Rough microseconds to write a message, measured there on a busy core."""


class Pen(NamedTuple):
    """All that the written form of a message depends on, besides the message and the time mark before it.

    `self_ids` are the bot's own ids: whose lines are the model's own.
    """

    speaker: SpeakerStyle
    tokenizer: TokenizerName = TokenizerName.O200K
    with_names: bool = False
    self_ids: tuple[str, ...] = ()

    def write(self, said: Said, mark: str = "", fragment: bytes = b"") -> Written:
        """The message in both forms, counted."""
        counter = token_counter(self.tokenizer)
        is_bare, line = outside(said, self.speaker), render_line(said, self.speaker, mark)
        turn = NeutralMessage(
            said.rendered_role,
            mark + said.whole if is_bare else line,
            "" if said.is_own or said.role is Role.SYSTEM else said.author_name or said.author_id,
            (said.message_id,),
        )
        text_cost = self._text_cost(said)
        prefix = f"{mark}{speaker(said, self.speaker)}: "
        line_cost = text_cost + said.whole.count("\n") + repeated_tokens(prefix, self.tokenizer)
        bare_cost = text_cost + repeated_tokens(mark, self.tokenizer)
        turn_cost = (bare_cost if is_bare else line_cost) + MESSAGE_TOKENS
        turn_tokens = counter.count(turn.content) + MESSAGE_TOKENS
        if self.with_names:
            turn_tokens += name_tokens(turn.name, self.tokenizer)
        line_tokens = counter.count(line + "\n")
        return Written(
            said, self, mark, fragment, turn, turn_cost, turn_tokens, line, line_tokens, line_cost
        )

    def _text_cost(self, said: Said) -> int:
        """An upper bound for the text and the name: the count stored with the message, where it is still its own.

        BPE counts of pieces add up to at least the count of the whole for such joins; the recount in `budget.fit` has
        the last word anyway.
        """
        if self.tokenizer is TokenizerName.O200K and said.token_count and not said.truncated:
            tokens = said.token_count
        else:
            tokens = token_counter(self.tokenizer).count(said.whole + "\n")
        return (
            tokens + NAME_TOKENS + len(safe_name(said.author_name)) if self.with_names else tokens
        )


def name_tokens(name: str, tokenizer: TokenizerName) -> int:
    """What a name adds to its message in a payload that has names."""
    safe = safe_name(name)
    return NAME_TOKENS + repeated_tokens(safe, tokenizer) if safe else 0


@quick
@dataclass(frozen=True, slots=True)
class Written:
    r"""One message in one style.

    Attributes
    ----------
    fragment : bytes
        The message's wire form.
    turn, turn_tokens, turn_cost : the message of its own, the tokens it adds to a payload, and the most it adds to one.
    line, line_tokens, line_cost : the line among others, the tokens of ``line + "\n"``, the most it adds.
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

    def telling(self, said: Said) -> Written:
        """The same message with something else, or less, to tell."""
        return self.pen.write(said, self.mark, self.fragment)

    @property
    def nbytes(self) -> int:
        """Bytes it takes, roughly."""
        return WRITTEN_BYTES + WRITTEN_BYTES_PER_CHAR * len(self.line)


class Shown(Sequence[Written]):
    """Written messages in the order in which they are shown, by column.

    Parameters
    ----------
    written : the messages.
    keys : where each is kept, NOT_KEPT for one that is made for this build alone.
    store : where that is; None: nowhere.
    """

    __slots__ = ("_store", "_tokens", "keys", "written")

    def __init__(
        self, written: list[Written], keys: list[int] | None = None, store: Store | None = None
    ) -> None:
        self.written = written
        self.keys = [NOT_KEPT] * len(written) if keys is None else keys
        self._store = store
        self._tokens = -1

    @property
    def tokens(self) -> int:
        """What the messages add to a payload, each a message of its own."""
        if self._tokens < 0:
            self._tokens = sum([one.turn_tokens for one in self.written])
        return self._tokens

    def forms(self, form: str, make: Callable[[Written], bytes]) -> list[bytes]:
        """What `make` makes of each; where the message is kept, that is, too, under the name `form`."""
        if self._store is None or not self.written:
            return list(map(make, self.written))
        style = (form, self.written[0].pen)
        made: list[bytes | None] = list(map(self._store.of(style).get, self.keys))
        if None in made:
            for at, known in enumerate(made):
                if known is None:
                    made[at] = self._make(at, style, make)
        return cast("list[bytes]", made)

    def _make(self, at: int, style: Hashable, make: Callable[[Written], bytes]) -> bytes:
        made, key = make(self.written[at]), self.keys[at]
        if self._store is not None and key != NOT_KEPT:
            self._store.keep(style, key, made, FORM_BYTES + len(made))
        return made

    def among(self, written: list[Written]) -> Shown:
        """Some of these messages and others, in a new order."""
        keys = {id(one): key for one, key in zip(self.written, self.keys, strict=True)}
        return Shown(written, [keys.get(id(one), NOT_KEPT) for one in written], self._store)

    def where(self, marks: list[bool]) -> Shown:
        """Those that are marked."""
        return Shown(
            list(compress(self.written, marks)), list(compress(self.keys, marks)), self._store
        )

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
    rows: list[int]
    pen: Pen
    marks: list[str] | None
    keys: list[int]
    found: list[Written | None]

    def left_us(self) -> float:
        """Microseconds that `finish` takes, predicted."""
        if None not in self.found:
            return 0.0
        texts = [
            self.view.texts[row]
            for row, one in zip(self.rows, self.found, strict=True)
            if one is None
        ]
        return WRITE_US * len(texts) + WRITE_US_PER_CHAR * sum(map(len, texts))

    def finish(self) -> Shown:
        """The rows as they are written, kept for the next build."""
        found = self.found
        if None in found:
            for at, one in enumerate(found):
                if one is None:
                    found[at] = self._write(at)
        return Shown(cast("list[Written]", found), self.keys, self.view.written)

    def _write(self, at: int) -> Written:
        view, own, row = self.view, self.pen.self_ids, self.rows[at]
        role, author_id = Role(int(view.role[row])), view.author_id(row)
        said = Said(
            message_id=view.message_ids[row],
            role=role,
            is_own=role is Role.ASSISTANT and (not own or author_id in own),
            author_id=author_id,
            author_name=view.author_name(row),
            kind=AuthorKind(int(view.kind[row])),
            text=view.texts[row],
            sent_at_ms=int(view.columns.time_ms[row]),
            token_count=int(view.token_count[row]),
        )
        made = self.pen.write(said, self.marks[at] if self.marks else "", view.fragments[row])
        view.written.keep(self.pen, self.keys[at], made, made.nbytes)
        return made


def draft(view: ChannelView, rows: NDArray[np.int32], style: LineStyle, pen: Pen) -> Drafts:
    """What is there of ascending rows in this style."""
    keys, numbers = view.seq[rows].tolist(), rows.tolist()
    times, marks = view.columns.time_ms, None
    young = not numbers or style.asked_at_ms - times.item(numbers[0]) <= MS_PER_DAY
    if not (style.time is TimeStyle.NONE or (style.time is None and young)):
        marks = [time_mark(at_ms, style) for at_ms in times[rows].tolist()]
        keys = list(map(view.written.key, keys, marks))
    return Drafts(view, numbers, pen, marks, keys, list(map(view.written.of(pen).get, keys)))
