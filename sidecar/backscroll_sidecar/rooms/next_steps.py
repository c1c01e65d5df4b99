"""Whom a round asks next: those whom the mode waits for, and those to whom personas hand on."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from backscroll_sidecar.rooms.preparing import Preparing, awaited_personas, is_parallel
from backscroll_sidecar.rooms.round_events import Routing
from backscroll_sidecar.rooms.round_record import Step
from backscroll_sidecar.rooms.running_round import RunningRound
from backscroll_sidecar.sessions.routing import IgnoredReason, RouteReason, Target


class NextSteps:
    """Works out the next steps of rounds. Safe from any task of one event loop."""

    def __init__(self, preparing: Preparing) -> None:
        self._preparing = preparing

    def of_mode(self, run: RunningRound) -> list[Step]:
        """Whom the mode waits for now, and who was not asked in this part of the play."""
        waiting = run.play.waiting()
        steps = run.body.steps
        if waiting is None or not waiting.goes_on or _is_explicit(run):
            return []
        stage = run.play.mode.stage(run.play.state)
        asked = {(one.stage, one.target_id) for one in steps}
        able = {one.id for one in self._preparing.lookup_of(run.session).able}
        ids = [
            one
            for one in awaited_personas(run.play, waiting)
            if (stage, one) not in asked and one in able
        ]
        wave = steps[-1].wave + 1 if steps else 1
        trigger = next((one.message_id for one in reversed(steps) if one.message_id), "")
        trigger = trigger or (run.body.message_ids[-1] if run.body.message_ids else "")
        is_at_once = is_parallel(run.play, run.session.effective_policy)
        return [
            run.new_step(
                len(steps) + place,
                Target(one, RouteReason.ROLE_MAP),
                wave if is_at_once else wave + place,
                trigger,
            )
            for place, one in enumerate(ids)
        ]

    async def onward(self, run: RunningRound) -> list[Step]:
        """Those whom the personas of the last wave named at the beginning of a line."""
        most = run.session.effective_policy.onward_depth or 0
        steps = run.body.steps
        if not most or not steps:
            return []
        last = steps[-1].wave
        more: list[Step] = []
        for place, step in enumerate(steps):
            reply = run.replies.get(place)
            if step.wave != last or step.depth >= most or reply is None:
                continue
            taken = [one.target_id for one in more]
            routing = await self._preparing.routed_onward(run.session, run.play, reply, taken)
            run.body = replace(run.body, ignored=(*run.body.ignored, *_loops(routing)))
            guard = await self._preparing.guard_of(run.session, step.target_id)
            first = len(steps) + len(more)
            run.guards |= {first + number: guard for number in range(len(routing.targets))}
            more += [
                run.new_step(
                    first + number,
                    Target(one.id, RouteReason.ONWARD),
                    last + 1 + len(more) + number,
                    reply.id,
                    step.depth + 1,
                )
                for number, one in enumerate(routing.targets)
            ]
        return more


def _is_explicit(run: RunningRound) -> bool:
    return any(one.reason is RouteReason.EXPLICIT for one in run.body.steps)


def _loops(routing: Routing) -> tuple[Any, ...]:
    return tuple(one for one in routing.ignored if one.reason is IgnoredReason.LOOP)
