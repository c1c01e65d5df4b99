"""A chain of roles that work on one task: coder, reviewer, tester, or others. Each answer hands the work on.

The task is the first message and what people add to it. An answer that begins with ``/reject`` sends the work back, so
often and no more. Behind the last role the task is done, and the next message begins a new one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from backscroll_sidecar.sessions.modes.base import (
    Action,
    ActionRefused,
    Announcement,
    MemoryLine,
    Outcome,
    Seat,
    Table,
    Traits,
    Unaddressed,
    Waiting,
)
from backscroll_sidecar.texts import Language

NODES = ("coder", "reviewer", "tester")
_REJECT = re.compile(r"\s*[/／](?:reject(?![a-z0-9])|打回|退回)", re.IGNORECASE)


class Advance(StrEnum):
    """How far one message takes the task: through the whole chain, or one role further."""

    CHAIN = "chain"
    STEP = "step"


class Status(StrEnum):
    """Where the task stands: none yet, at work, done, or given up because it was sent back too often."""

    IDLE = "idle"
    WORKING = "working"
    DONE = "done"
    GIVEN_UP = "given_up"


class WorkflowConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a workflow is set.

    Attributes
    ----------
    role_map : the persona of each node, by its id. Every node needs one.
    nodes : the nodes in their order, each once.
    back_to : where the work goes that a node sends back, by node; unset: to the first one.
    advance : how far one message takes it.
    max_rejections : how often a task may be sent back, 0 to 100.
    """

    role_map: Mapping[str, str]
    nodes: tuple[str, ...] = NODES
    back_to: Mapping[str, str] = {}
    advance: Advance = Advance.CHAIN
    max_rejections: int = 2


class WorkflowState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a workflow stands.

    Attributes
    ----------
    current_node : who is to work next.
    rejections : how often this task was sent back.
    task : counts tasks from 1; 0: none yet.
    task_message_id : the message that began this one.
    """

    current_node: str
    status: Status = Status.IDLE
    rejections: int = 0
    task: int = 0
    task_message_id: str = ""


class WorkflowTexts(msgspec.Struct, frozen=True):
    """What a workflow says, in one language."""

    stage: str
    next_role: str
    can_reject: str
    last_reject: str
    done: str
    given_up: str
    main_task: str
    follow_ups: str


TEXTS: Mapping[Language, WorkflowTexts] = {
    Language.EN: WorkflowTexts(
        stage="Stage: {node} (of {nodes})",
        next_role="Your work goes to {name} ({node}) next.",
        can_reject="If it must be done again, begin your answer with a line /reject and say why. Sent back so far: "
        "{count} of {most} times.",
        last_reject="It cannot be sent back any more.",
        done="The task is done.",
        given_up="The task is given up: it was sent back {most} times.",
        main_task="Task: ",
        follow_ups="Added later:",
    ),
    Language.ZH: WorkflowTexts(
        stage="当前阶段：{node}（全部：{nodes}）",
        next_role="你的结果接下来交给{name}（{node}）。",
        can_reject="如果必须返工，请在回答的第一行写 /reject 并说明原因。目前已打回 {count} 次，最多 {most} 次。",
        last_reject="已经不能再打回了。",
        done="任务完成。",
        given_up="任务终止：已被打回 {most} 次。",
        main_task="主任务：",
        follow_ups="补充要求：",
    ),
}
PROMPTS: Mapping[Language, str] = {
    Language.EN: (
        "You are {{name}}.\n"
        "{{persona}}\n"
        "Your colleagues:\n{{colleagues}}\n"
        "{{memory}}\n"
        "Speak as {{name}} alone. Do your part of the task and nothing else."
    ),
    Language.ZH: (
        "你是{{name}}。\n"
        "{{persona}}\n"
        "你的同事：\n{{colleagues}}\n"
        "{{memory}}\n"
        "只以{{name}}的身份说话，只做你负责的部分。"
    ),
}


class Workflow:
    """The machine. Its nodes, their order and their personas are configuration."""

    name = "workflow"
    traits = Traits(
        unaddressed=Unaddressed.NOBODY, heeds_mentions=False, in_parallel=False, is_serial=True
    )
    config_type = WorkflowConfig
    state_type = WorkflowState
    prompts = PROMPTS

    def begin(self, config: WorkflowConfig, table: Table, seed: int) -> WorkflowState:
        """At the first node, without a task."""
        _check_chain(config)
        for node in config.nodes:
            _persona_of(config, table, node)
        return WorkflowState(config.nodes[0])

    def check(self, config: WorkflowConfig, state: WorkflowState, table: Table) -> None:
        """At one of the nodes; its persona may be gone."""
        _check_chain(config)
        if state.current_node not in config.nodes:
            raise ActionRefused(f"current_node is no node: {state.current_node}", "mode_state")
        if state.rejections < 0 or state.task < 0:
            raise ActionRefused("rejections and task are not less than 0", "mode_state")

    def waits_for(
        self, config: WorkflowConfig, state: WorkflowState, table: Table
    ) -> Waiting | None:
        """The persona of the current node, while there is a task."""
        if state.status is not Status.WORKING:
            return Waiting(())
        persona = _persona_of(config, table, state.current_node)
        return Waiting((persona.id,), goes_on=config.advance is Advance.CHAIN)

    def read_action(
        self, config: WorkflowConfig, state: WorkflowState, table: Table, sender_id: str, text: str
    ) -> Action | None:
        """A person's message begins a task or adds to it; the current persona's hands the work on, or back."""
        working = state.status is Status.WORKING
        current = config.role_map.get(state.current_node, "")
        if working and sender_id == current:
            return Action("reject" if _REJECT.match(text) else "approve", sender_id)
        is_persona = any(one.id == sender_id and one.is_persona for one in table.seats)
        return None if is_persona or working else Action("task", sender_id)

    def apply(
        self, config: WorkflowConfig, state: WorkflowState, table: Table, action: Action
    ) -> Outcome:
        """Begin a task, hand it on, send it back, or end it by hand (``stop``)."""
        if action.name == "task":
            if state.status is Status.WORKING:
                raise ActionRefused("a task is at work already")
            begun = WorkflowState(
                config.nodes[0], Status.WORKING, 0, state.task + 1, action.message_id
            )
            return Outcome(begun, (), "task")
        if action.name not in ("approve", "reject", "stop"):
            raise ActionRefused("a workflow knows task, approve, reject and stop")
        if state.status is not Status.WORKING:
            raise ActionRefused("there is no task")
        if action.name == "stop":
            return Outcome(replace(state, status=Status.GIVEN_UP), (), "stopped")
        current = _persona_of(config, table, state.current_node).id
        if action.actor_id not in ("", current):
            raise ActionRefused(f"it is the turn of {table.name_of(current)}", "actor_id")
        return (
            self._reject(config, state, table)
            if action.name == "reject"
            else self._approve(config, state, table)
        )

    def _approve(self, config: WorkflowConfig, state: WorkflowState, table: Table) -> Outcome:
        place = config.nodes.index(state.current_node)
        if place + 1 < len(config.nodes):
            return Outcome(replace(state, current_node=config.nodes[place + 1]), (), "approved")
        done = replace(state, current_node=config.nodes[0], status=Status.DONE)
        return Outcome(done, (Announcement(_texts(table).done),), "done")

    def _reject(self, config: WorkflowConfig, state: WorkflowState, table: Table) -> Outcome:
        if state.rejections >= config.max_rejections:
            given_up = replace(state, current_node=config.nodes[0], status=Status.GIVEN_UP)
            said = _texts(table).given_up.format(most=config.max_rejections)
            return Outcome(given_up, (Announcement(said),), "given_up")
        target = config.back_to.get(state.current_node, config.nodes[0])
        back = replace(state, current_node=target, rejections=state.rejections + 1)
        return Outcome(back, (), "rejected")

    def audience_of(
        self, config: WorkflowConfig, state: WorkflowState, table: Table, sender_id: str
    ) -> Sequence[str]:
        """Everybody."""
        return ()

    def memory(
        self, config: WorkflowConfig, state: WorkflowState, table: Table
    ) -> Sequence[MemoryLine]:
        """The stage, who comes next, and how to send the work back."""
        if state.status is not Status.WORKING:
            return ()
        texts, node = _texts(table), state.current_node
        current = (_persona_of(config, table, node).id,)
        lines = [
            MemoryLine(
                "current_node", texts.stage.format(node=node, nodes=" → ".join(config.nodes))
            )
        ]
        place = config.nodes.index(node)
        if place + 1 < len(config.nodes):
            after = config.nodes[place + 1]
            name = _persona_of(config, table, after).name
            said = texts.next_role.format(name=name, node=after)
            lines.append(MemoryLine("current_node", said, current))
        if place or node in config.back_to:
            may = texts.can_reject.format(count=state.rejections, most=config.max_rejections)
            said = may if state.rejections < config.max_rejections else texts.last_reject
            lines.append(MemoryLine("rejections", said, current))
        return lines

    def task_begins_with(self, state: WorkflowState) -> str | None:
        """The message that began it."""
        return state.task_message_id

    def stage(self, state: WorkflowState) -> str:
        """A node of a task, anew each time the work comes back to it."""
        return f"{state.task}:{state.current_node}:{state.rejections}"

    def is_over(self, state: WorkflowState) -> bool:
        """Whether the task is done or given up; the next message begins another."""
        return state.status in (Status.DONE, Status.GIVEN_UP)


def task_prompt(messages: Sequence[str], language: Language) -> str:
    """The task as prompts have it: the first message, and the others numbered in order of time."""
    said = [one.strip() for one in messages if one.strip()]
    if not said:
        return ""
    texts = TEXTS[Language.ZH if language is Language.ZH else Language.EN]
    lines = [texts.main_task + said[0]]
    if len(said) > 1:
        lines += [texts.follow_ups, *(f"{i}. {one}" for i, one in enumerate(said[1:], 1))]
    return "\n".join(lines)


def _check_chain(config: WorkflowConfig) -> None:
    """Raise `ActionRefused` where the nodes make no chain, whoever is there."""
    if not config.nodes or len({*config.nodes}) != len(config.nodes):
        raise ActionRefused("nodes must be at least one, each once", "role_config.nodes")
    for node, target in config.back_to.items():
        if node not in config.nodes or target not in config.nodes:
            raise ActionRefused(f"back_to names no node: {node}", f"role_config.back_to.{node}")
    if not 0 <= config.max_rejections <= 100:
        raise ActionRefused("max_rejections is not between 0 and 100", "role_config.max_rejections")


def _texts(table: Table) -> WorkflowTexts:
    return TEXTS[Language.ZH if table.language is Language.ZH else Language.EN]


def _persona_of(config: WorkflowConfig, table: Table, node: str) -> Seat:
    """The persona of a node. Raises `ActionRefused` where the configuration names none that is there."""
    field = f"role_config.role_map.{node}"
    if node not in config.role_map:
        raise ActionRefused(f"role_map has no persona for {node}", field)
    wanted = config.role_map[node]
    seat = next((one for one in table.seats if one.id == wanted and one.is_persona), None)
    if seat is None:
        raise ActionRefused(f"{wanted} of {node} is no persona that takes part", field)
    return seat
