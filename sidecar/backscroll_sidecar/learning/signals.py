"""Implicit feedback: what the lines behind a bot's reply tell about it. Pure, no clock.

Rules over closed-class words, whom a line is for, and words that come back. Silence is no signal. A turn ends where the
bot answers its asker again. Where words allow another reading there is no signal: one that is missed costs little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from backscroll_sidecar.analyze.keywords import keywords
from backscroll_sidecar.analyze.reply_cues import FLAGS, flags_of, thanks
from backscroll_sidecar.analyze.types import classify
from backscroll_sidecar.domain import AuthorKind, MessageType
from backscroll_sidecar.learning import phrases, restated_question, signal_words
from backscroll_sidecar.learning.addressees import Addressees
from backscroll_sidecar.learning.citations import Earlier
from backscroll_sidecar.learning.restated_question import AskedQuestion, asks
from backscroll_sidecar.learning.turn import ChatLine, Turn
from backscroll_sidecar.ports import Signal, SignalKind

VALUES = {
    SignalKind.THANKED: 1.0,
    SignalKind.CORRECTED: -1.0,
    SignalKind.REPHRASED: -0.8,
    SignalKind.CITED_LEFT_OUT: -0.6,
    SignalKind.ANSWERED_BY_OTHER: -0.4,
}
"""What each kind of signal would say of a reply if it were sure, -1 to 1."""


@dataclass(frozen=True, slots=True)
class ImplicitSignal:
    """One signal of a turn.

    Attributes
    ----------
    kind : any but `FEEDBACK`.
    value : -1 to 1, whether it speaks for the reply: that of `VALUES`.
    confidence : 0 to 1.
    reason : in words, with the id of the message it came from.
    message_id, user_id, at_ms : that id, its author, when it was sent.
    """

    kind: SignalKind
    value: float
    confidence: float
    reason: str
    message_id: str
    user_id: str
    at_ms: int

    def stored(self) -> Signal:
        """The signal as records keep it: a value of 0 is of no use, .5 says nothing, 1 is all that was needed."""
        return Signal(
            self.kind,
            self.user_id,
            self.message_id,
            (1 + self.value) / 2,
            self.confidence,
            self.at_ms,
            text=self.reason,
        )


@dataclass(frozen=True, slots=True)
class Window:
    """How many lines behind a reply are read, and how long after it they may come."""

    max_lines: int = 20
    max_age_ms: int = 15 * 60_000


DEFAULT_WINDOW = Window()

MOST_BEFORE_REPLY = 100
"""Where more lines came between question and reply, fewer behind it are read."""

_COMMAND = 1 << FLAGS.index("command")
_NEAR_LINES = 6
"""Lines of the asker, and for the asker or the bot, behind which signals are less sure."""
_FAR = 0.8
_FEW_KEYWORDS = 2
"""So short a line need not look like an answer."""
_MOST_AGREED = 0.6
"""An answer that has more of its own keywords in common with the reply says the same."""


def implicit_signals(
    turn: Turn, following: Sequence[ChatLine], window: Window = DEFAULT_WINDOW
) -> tuple[ImplicitSignal, ...]:
    """The signals of a turn, at most one of a kind, the surest first. O(characters of the window).

    Parameters
    ----------
    following
        The lines behind the question in the channel's order, the bot's own as well. Those sent before the reply give no
        signal, but they cannot have been left out either.
    """
    following = following[: window.max_lines + MOST_BEFORE_REPLY]
    reader = _Reader(turn, following)
    latest_ms = turn.reply.sent_at_ms + window.max_age_ms
    lines_left = window.max_lines
    for line in following:
        if line.message_id == turn.reply.message_id:
            continue
        if line.sent_at_ms < turn.reply.sent_at_ms:
            reader.addressees.note(line)
        elif lines_left > 0 and line.sent_at_ms <= latest_ms:
            lines_left -= 1
            if not reader.read(line):
                break
    return tuple(sorted(reader.found.values(), key=lambda one: -one.confidence))


class _Reader:
    """Reads the lines behind one reply, one after the other."""

    def __init__(self, turn: Turn, following: Sequence[ChatLine]) -> None:
        self.found: dict[SignalKind, ImplicitSignal] = {}
        self.addressees = Addressees(turn, following)
        self._turn = turn
        self._bot_id, self._asker_id = turn.reply.author.id, turn.question.author.id
        self._bot_names = (turn.reply.author.name or turn.reply.author.id,)
        self._earlier = Earlier(turn.earlier, turn.shown_ids)
        self._question = AskedQuestion(
            turn.question.text, self._said(turn.question), self._bot_names
        )
        self._replied: frozenset[str] = frozenset()
        self._reply_asks = self._reply_gives_up = False
        self._hear_reply(turn.reply)
        self._talks_to = self._bot_id
        self._asker_spoke = False
        self._partners: set[str] = set()
        self._answerer: str | None = None
        self._lines_read = 0

    def read(self, line: ChatLine) -> bool:
        """Take in a line; False where the turn ended before it."""
        whom = self.addressees.whom(line)
        if line.author.id == self._bot_id:
            if whom in {None, self._asker_id}:
                if self._asker_spoke:
                    return False
                self._hear_reply(line)
        elif line.author.kind is AuthorKind.HUMAN:
            if line.author.id == self._asker_id:
                self._read_asker(line, whom)
            else:
                self._read_other(line, whom)
        self.addressees.note(line)
        return True

    def _hear_reply(self, line: ChatLine) -> None:
        said = self._said(line)
        self._replied |= frozenset(keywords(said))
        self._question.add_reply(self._replied)
        self._reply_asks = asks(line.text[-phrases.MAX_CHARS :])
        self._reply_gives_up = signal_words.knows_nothing(said)

    def _said(self, line: ChatLine) -> str:
        called = self.addressees.called_in(line)
        return phrases.said_in(
            line.text, self._bot_names, calls_somebody=called not in {None, self._bot_id}
        )

    # --- the asker ------------------------------------------------------------------------------------------------

    def _read_asker(self, line: ChatLine, whom: str | None) -> None:
        self._lines_read += 1
        said = self._said(line)
        unquoted = phrases.without_quotations(said)
        if self.addressees.is_of_older_talk(line, whom):
            self._asker_spoke |= whom == self._bot_id
            if not self._cites(line, unquoted, whom) and whom is not None:
                self._partners.add(whom)
            return
        self._talks_to = whom or self._talks_to
        share = self._question.share_in(line.text, said)
        if self._talks_to != self._bot_id:
            self._read_aside(line, unquoted, share)
            return
        is_first, self._asker_spoke = not self._asker_spoke, True
        if self._cites(line, unquoted, whom):
            return
        wrong = self._wrongness(line, unquoted, is_to_bot=is_first or whom == self._bot_id)
        if share >= restated_question.SAME:
            self._add(SignalKind.REPHRASED, line, 0.9, "of the asker asks the same again")
        elif wrong:
            what = "of the asker says that the reply is wrong or did not help"
            self._add(SignalKind.CORRECTED, line, wrong, what)
        elif share >= restated_question.NEARLY:
            self._add(SignalKind.REPHRASED, line, 0.8 * share, "of the asker asks nearly the same")
        elif self._thanks_bot(unquoted):
            self._add(SignalKind.THANKED, line, 0.8, "of the asker thanks for the reply")

    def _thanks_bot(self, said: str) -> bool:
        if self._reply_gives_up or self.addressees.names_others_than_bot(said):
            return False
        return signal_words.thanks_for_help(said)

    def _read_aside(self, line: ChatLine, said: str, share: float) -> None:
        """What the asker says to somebody else than the bot."""
        if share >= restated_question.NEARLY:
            self._add(SignalKind.REPHRASED, line, 0.8 * share, "of the asker asks others the same")
            return
        answered = self.found.get(SignalKind.ANSWERED_BY_OTHER)
        if answered and self._answerer == self._talks_to and thanks(said):
            self.found[SignalKind.ANSWERED_BY_OTHER] = replace(answered, confidence=0.8)
        self._partners.add(self._talks_to)

    # --- others ---------------------------------------------------------------------------------------------------

    def _read_other(self, line: ChatLine, whom: str | None) -> None:
        if whom == self._asker_id:
            self._talks_to = line.author.id
        elif whom != self._bot_id and not self.addressees.names_bot(line.text):
            return
        self._lines_read += 1
        said = phrases.without_quotations(self._said(line))
        if self._cites(line, said, whom) or self.addressees.is_of_older_talk(line, whom):
            return
        if whom == self._bot_id:
            self._read_other_to_bot(line, said)
        elif whom == self._asker_id and self._answers(line, said):
            is_sure = line.reply_to_id == self._turn.question.message_id
            if (
                is_sure or line.author.id not in self._partners
            ):  # else of a talk that the asker began
                self._answerer = self._answerer or line.author.id
                what = "of another member answers the asker"
                self._add(SignalKind.ANSWERED_BY_OTHER, line, 0.6 if is_sure else 0.5, what)

    def _read_other_to_bot(self, line: ChatLine, said: str) -> None:
        is_reply = bool(line.reply_to_id)
        if wrong := self._wrongness(line, said, is_to_bot=True):
            if is_reply or not (self._question.topic | self._replied).isdisjoint(keywords(said)):
                what = "of another member says that the reply is wrong"
                self._add(SignalKind.CORRECTED, line, 0.8 * wrong, what)
        elif signal_words.thanks_for_help(said) and (is_reply or signal_words.joins_in(said)):
            self._add(SignalKind.THANKED, line, 0.5, "of another member thanks for the reply")

    def _answers(self, line: ChatLine, said: str) -> bool:
        """Whether another member's line gives the asker an answer of its own."""
        if flags_of(line.text) & _COMMAND or signal_words.wonders_too(said) or thanks(said):
            return False
        if line.text.rstrip().endswith(("?", "\uff1f")):
            said = phrases.without_questions(f"{said}?")
        own = set(keywords(said))
        is_near = line.reply_to_id == self._turn.question.message_id or not own.isdisjoint(
            self._question.topic
        )
        if signal_words.tells_own_case(said) and not is_near:
            return False
        is_near |= (
            len(own) <= _FEW_KEYWORDS or not said.isascii()
        )  # Chinese answers look like any line
        kind = classify(
            said, is_reply=is_near, parent_is_question=is_near, author_kind=AuthorKind.HUMAN
        )
        if not said or kind is not MessageType.ANSWER:
            return False
        own -= self._question.topic
        repeated = own & self._replied
        if signal_words.agrees(said) and (repeated or not own):
            return False
        return len(repeated) <= _MOST_AGREED * len(own)

    # --- both -----------------------------------------------------------------------------------------------------

    def _wrongness(self, line: ChatLine, said: str, *, is_to_bot: bool) -> float:
        return signal_words.wrongness(
            said, is_to_bot=is_to_bot, answers_bot=self._reply_asks, asks=asks(line.text)
        )

    def _cites(self, line: ChatLine, said: str, whom: str | None) -> bool:
        """Note a citation of a message that the context left out, if there is one."""
        cited = self._earlier.linked_in(line.text) or self._earlier.quoted_in(
            line.text, self._turn.question.text, self._turn.reply.text
        )
        confidence = 0.9
        if cited is None and self._replies_to_cite(line, said, whom):
            cited, confidence = line.reply_to_id, 0.8
        if cited is None and self._turn.earlier and signal_words.was_said_before(said):
            cited, confidence = self._earlier.said_again_in(line.text), 0.7
        if cited is None:
            return False
        what = f"points to message {cited}, which the context left out"
        self._add(SignalKind.CITED_LEFT_OUT, line, confidence, what)
        return True

    def _replies_to_cite(self, line: ChatLine, said: str, whom: str | None) -> bool:
        """Whether a line answers a left-out message to point to it, and not to go on with that talk.

        Platforms mention whom a reply answers: a mention of the left-out message's author tells nothing.
        """
        if not self.addressees.is_left_out(line.reply_to_id):
            return False
        author = self._earlier.author_of(line.reply_to_id)
        if author == self._bot_id:
            return False
        is_to_bot = whom == self._bot_id or self.addressees.names_bot(line.text)
        is_asker = line.author.id == self._asker_id
        if author is None or is_asker:
            may_point = is_to_bot or is_asker or whom == self._asker_id
            return may_point and (
                signal_words.points_back(said) or (is_to_bot and author is not None)
            )
        return is_to_bot or (whom == self._asker_id and author != self._asker_id)

    def _add(self, kind: SignalKind, line: ChatLine, confidence: float, what: str) -> None:
        """Keep a signal unless there is a surer one of its kind."""
        if self._lines_read > _NEAR_LINES:
            confidence *= _FAR
        known = self.found.get(kind)
        if known is None or known.confidence < confidence:
            confidence = round(min(confidence, 1.0), 3)
            reason = f"message {line.message_id} {what}"
            self.found[kind] = ImplicitSignal(
                kind,
                VALUES[kind],
                confidence,
                reason,
                line.message_id,
                line.author.id,
                line.sent_at_ms,
            )
