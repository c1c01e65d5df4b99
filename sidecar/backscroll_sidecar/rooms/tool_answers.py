"""The results of tools that a round waits for."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from backscroll_sidecar.errors import Conflict, InvalidRequest, NotFound, Reason
from backscroll_sidecar.rooms.round_events import Answers
from backscroll_sidecar.rooms.round_record import Step, StepStatus
from backscroll_sidecar.rooms.running_round import RunningRound


def answered(run: RunningRound, answers: Sequence[Answers]) -> dict[int, Answers]:
    """The results of tools by the place of the step that waits for them; those that were taken already are left out."""
    given: dict[int, Answers] = {}
    for number, one in enumerate(answers):
        digest = hashlib.blake2b(
            msgspec.json.encode([msgspec.structs.asdict(each) for each in one.results]),
            digest_size=12,
        ).hexdigest()
        place = next(
            (
                place
                for place, step in enumerate(run.body.steps)
                if one.interrupt_id == step.interrupt_id or one.interrupt_id in step.answered
            ),
            None,
        )
        if place is None:
            raise NotFound(
                "the round waits for no such interrupt",
                field=f"answers[{number}].interrupt_id",
                reason=Reason.INTERRUPT_NOT_FOUND,
            )
        step = run.step(place)
        before = step.answered.get(one.interrupt_id)
        if before not in (None, digest):
            raise Conflict(
                "the interrupt was answered otherwise",
                field=f"answers[{number}].interrupt_id",
            )
        if step.status is StepStatus.INTERRUPTED and step.interrupt_id == one.interrupt_id:
            _check_results(step, one, f"answers[{number}].tool_results")
            answered = {**step.answered, one.interrupt_id: digest}
            run.put_step(place, replace(step, answered=answered))
            given[place] = one
    return given


def _check_results(step: Step, given: Answers, field: str) -> None:
    """Raise `InvalidRequest` unless each call has its result: the interrupt stays open."""
    calls = sorted(one.id for one in step.calls)
    if sorted(one.call_id for one in given.results) != calls:
        raise InvalidRequest(f"must answer each of {', '.join(calls)} once", field=field)
