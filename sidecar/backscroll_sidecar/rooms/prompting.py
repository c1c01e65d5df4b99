"""What a persona is asked with: its context, made of its session, its mode and the message. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from backscroll_sidecar.context.model import BuildRequest, SystemPrompt
from backscroll_sidecar.domain import Author, AuthorKind, Layout, Message, Overrides
from backscroll_sidecar.rooms.tables import Play
from backscroll_sidecar.sessions.modes.base import MemoryLine
from backscroll_sidecar.sessions.modes.workflow import task_prompt
from backscroll_sidecar.sessions.participants import Participant
from backscroll_sidecar.sessions.persona_prompts import persona_prompt
from backscroll_sidecar.sessions.session import RoomPolicy, Session
from backscroll_sidecar.texts import Language, LanguageTag

PROFILE = "room"
LABELS = {Language.ZH: "铲屎官说：", Language.EN: "User says: "}
GO_ON = {Language.ZH: "请继续。", Language.EN: "Go on."}
"""What a persona is asked where nobody said anything."""
_TAGS = {Language.ZH: LanguageTag(Language.ZH), Language.EN: LanguageTag(Language.EN)}


class Asking(msgspec.Struct, frozen=True):
    """What personas are asked in one round.

    Attributes
    ----------
    user_text : the message as prompts have it.
    message : the last one that was said; None: nothing was.
    told_ids : messages that the question tells, beside that.
    template, layout : what the request says of the prompts.
    """

    user_text: str
    message: Message | None
    told_ids: tuple[str, ...]
    template: BuildRequest
    layout: Layout | None

    @property
    def asker(self) -> Author | None:
        """Who wrote the message."""
        return None if self.message is None else self.message.author


def context_of(
    session: Session,
    play: Play,
    persona: Participant,
    asking: Asking,
    *,
    in_snapshot: bool,
    task_messages: Sequence[Message] | None,
) -> BuildRequest:
    """The context of one answer.

    Parameters
    ----------
    in_snapshot : only what was there before the message is seen.
    task_messages : what people said of the task, in order; None: the mode has none.
    """
    policy, language = session.effective_policy, play.table.language
    message, template = asking.message, asking.template
    question, told = asking.user_text, asking.told_ids
    asker = asking.asker
    if task_messages is not None:  # several people may have said it
        asker, in_snapshot = None, False
        question = task_prompt([one.text for one in task_messages], language) or question
        told = (*told, *(one.id for one in task_messages))
    question = question or GO_ON[language]
    label = LABELS[language] if policy.question_label is None else policy.question_label
    if template.question_label is not None:
        label = template.question_label
    is_seen_before = in_snapshot and message is not None
    return replace(
        template,
        key=session.key,
        question=question,
        asker=asker,
        trigger_message_id=message.id if message is not None and is_seen_before else "",
        own_question_id=message.id if message is not None and not is_seen_before else "",
        own_message_ids=told,
        asked_at_ms=None,
        reply=None,
        mentions=(),
        thread_id=(message.thread_id or None) if message is not None else None,
        session_id=session.id,
        self_ids=(persona.id,),
        viewer_id=persona.id,
        profile=template.profile or policy.profile or PROFILE,
        overrides=with_window(template.overrides, window_of(policy, play)),
        layout=asking.layout or policy.layout or Layout.SYSTEM_AND_USER,
        names_layout=True,
        system=SystemPrompt(system_text(session, play, persona)),
        question_label=label,
        model=persona.model or template.model,
        token_budget=persona.token_budget or template.token_budget,
        language=template.language or _TAGS[language],
        pictures=(),
    )


def labels_of(session: Session, template: BuildRequest) -> Sequence[str]:
    """What may stand before the question in the prompts of a session."""
    own = (session.effective_policy.question_label, template.question_label)
    return (*LABELS.values(), *filter(None, own))


def is_heard(message: Message, participant_id: str) -> bool:
    """Whether a message is for somebody, or by it."""
    return not message.audience or participant_id in (*message.audience, message.author.id)


def window_of(policy: RoomPolicy, play: Play) -> int:
    """How many of the newest messages a prompt shows."""
    return policy.window_messages or play.mode.traits.window_messages


def with_window(overrides: Overrides, window: int) -> Overrides:
    """The overrides, with the window where they do not say another."""
    return replace(
        overrides,
        max_context=window if overrides.max_context is None else overrides.max_context,
        recent_limit=window if overrides.recent_limit is None else overrides.recent_limit,
    )


def system_text(session: Session, play: Play, persona: Participant) -> str:
    """What a persona is told of itself, of the others and of where the mode stands."""
    language = play.table.language
    template = session.effective_policy.prompt or play.mode.prompts.get(
        language, play.mode.prompts[Language.EN]
    )
    here = [one for one in session.participants if one.is_present and one.id != persona.id]
    memory = [one.text for one in memory_of(play, persona.id)]
    more = {"mode": play.mode.name}
    return persona_prompt(template, persona, here, memory, language, more=more)


def memory_of(play: Play, viewer_id: str) -> Sequence[MemoryLine]:
    """What a viewer may be shown of the state: the one place where that is decided."""
    lines = play.memory()
    return [one for one in lines if not one.audience or viewer_id in one.audience]


def mode_author(play: Play) -> Author:
    """In whose name the mode speaks."""
    return Author(f"mode:{play.mode.name}", play.mode.name, AuthorKind.SYSTEM)
