"""Events of a turn: its beginning, each model call, its end. Nobody waits for them."""

import uuid
from collections.abc import Sequence

from backscroll_sidecar.chat.finish_reasons import Ending
from backscroll_sidecar.chat.turns import ModelReply, Turn
from backscroll_sidecar.context.model import BuiltContext
from backscroll_sidecar.context.response import beginning_events, turn_event_id
from backscroll_sidecar.domain import Event
from backscroll_sidecar.ports import Clock, EventSink, TurnMark


class TurnEvents:
    """Emits a turn's events below those of its build."""

    def __init__(self, sink: EventSink, clock: Clock) -> None:
        self._sink = sink
        self._clock = clock

    def begun(self, turn: Turn, built: BuiltContext, began_ms: int) -> None:
        """A turn begins and calls its model. A build with events has told of the beginning."""
        began: tuple[Event, ...] = ()
        if not built.events:
            began = beginning_events(turn.context_id, began_ms, turn.question_message_id)
        self._emit(turn, (*began, self._model_called(turn)))

    def continued(self, turn: Turn) -> None:
        """A turn calls its model again."""
        self._emit(turn, (self._model_called(turn),))

    def ended(self, turn: Turn, ending: Ending, reply: ModelReply, message_id: str) -> None:
        """A turn ends. `message_id` is that of the stored reply, or empty."""
        payload: dict[str, int | float | str | bool] = {
            "reason": ending.reason.value,
            "model_calls": turn.iteration,
            "partial": bool(message_id) and not ending.is_whole,
        }
        for name in ("prompt_tokens", "completion_tokens"):
            if (count := getattr(reply, name)) is not None:
                payload[name] = count
        about = message_id or turn.question_message_id
        self._emit(turn, (self._event(turn, "turn.ended", payload, about),))

    def _model_called(self, turn: Turn) -> Event:
        payload: dict[str, int | float | str | bool] = {
            "model": turn.model,
            "call": turn.iteration + 1,
            "message_count": len(turn.messages),
        }
        return self._event(turn, "model.called", payload, turn.question_message_id)

    def _event(
        self,
        turn: Turn,
        type_: str,
        payload: dict[str, int | float | str | bool],
        message_id: str,
    ) -> Event:
        # An id of its own: a call that failed may be made again.
        id_ = f"{turn.context_id}:{type_}:{uuid.uuid4().hex[:12]}"
        parent = turn_event_id(turn.context_id)
        return Event(id_, type_, "turn", self._clock.now_ms(), parent, payload, message_id)

    def _emit(self, turn: Turn, events: Sequence[Event]) -> None:
        if turn.key.channel and turn.context_id:
            self._sink.emit(turn.key, turn.context_id, events, TurnMark(turn.since))
