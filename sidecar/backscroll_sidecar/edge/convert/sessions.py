"""Sessions, spaces and participants between protobuf and domain, both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from backscroll.v1 import session_pb2 as pb
from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.edge import limits
from backscroll_sidecar.edge.convert.context import read_language
from backscroll_sidecar.edge.convert.fields import (
    AUTHOR_VISIBILITY_NUMBERS,
    AUTHOR_VISIBILITY_WORDS,
    LAYOUT_NUMBERS,
    LAYOUT_WORDS,
    check_count,
    check_id,
    check_range,
    check_text,
    check_time,
    enum_value,
    invalid,
    missing,
    numbers_of,
    required_id,
    words_of,
)
from backscroll_sidecar.rooms.drafts import SessionDraft, SessionEdit, SessionRef
from backscroll_sidecar.sessions.modes.base import Mode, Unaddressed
from backscroll_sidecar.sessions.modes.registry import schema_of
from backscroll_sidecar.sessions.participants import (
    MAX_ALIASES,
    MAX_PARTICIPANTS,
    Observe,
    Participant,
    ParticipantKind,
    Presence,
    ReplyRule,
)
from backscroll_sidecar.sessions.records import LoggedState
from backscroll_sidecar.sessions.session import (
    MAX_STATE_BYTES,
    RoomPolicy,
    Session,
    SessionStatus,
    Space,
)

MAX_PERSONA_BYTES = 32 * 1024
MAX_SUMMARY_BYTES = 2_000
MAX_PRESENCES = 1_000
KIND_NUMBERS = numbers_of(ParticipantKind, pb.ParticipantKind, "PARTICIPANT_KIND")
OBSERVE_NUMBERS = numbers_of(Observe, pb.Observe, "OBSERVE")
REPLY_RULE_NUMBERS = numbers_of(ReplyRule, pb.ReplyRule, "REPLY_RULE")
UNADDRESSED_NUMBERS = numbers_of(Unaddressed, pb.Unaddressed, "UNADDRESSED")
STATUS_NUMBERS = numbers_of(SessionStatus, pb.SessionStatus, "SESSION_STATUS")
_OBSERVE_WORDS = words_of(OBSERVE_NUMBERS, Observe.PRESENT)
_REPLY_RULE_WORDS = words_of(REPLY_RULE_NUMBERS, ReplyRule.ROUTED)
_UNADDRESSED_WORDS = words_of(UNADDRESSED_NUMBERS, None)
_STATUS_WORDS = words_of(STATUS_NUMBERS, None)
_COUNTS: Mapping[str, tuple[int, int]] = {
    "max_targets": (1, 32),
    "window_messages": (1, 500),
    "summarise_after_messages": (0, 1_000_000),
    "summarise_after_tokens": (0, 100_000_000),
    "loop_limit": (1, 1_000),
    "loop_window_s": (1, 86_400),
    "burst_window_ms": (0, 60_000),
    "onward_depth": (0, 15),
}
"""Numbers of a policy, each with its bounds."""


def ref_of(
    ref: pb.SessionRef, allowed: AllowedChannels | None, field: str = "session"
) -> SessionRef:
    """Which session a call means, and the channels it can be in."""
    return SessionRef(
        check_id(ref.session_id, f"{field}.session_id"),
        check_id(ref.space, f"{field}.space"),
        check_id(ref.project_id, f"{field}.project_id"),
        check_id(ref.owner_id, f"{field}.owner_id"),
        allowed,
    )


def required_ref(request: Any, allowed: AllowedChannels | None) -> SessionRef:  # noqa: ANN401 - any request with a session
    """The same where one must be named."""
    if not request.HasField("session"):
        raise missing("session")
    ref = ref_of(request.session, allowed)
    if not ref.session_id:
        raise missing("session.session_id")
    return ref


def participants_of(
    given: Sequence[pb.Participant],
    field: str,
    usual: ParticipantKind = ParticipantKind.HUMAN,
) -> tuple[Participant, ...]:
    """Participants, each once."""
    check_count(len(given), field, MAX_PARTICIPANTS)
    words = words_of(KIND_NUMBERS, usual)
    found = tuple(_participant(one, f"{field}[{place}]", words) for place, one in enumerate(given))
    if len({one.id for one in found}) < len(found):
        raise invalid(field, "names a participant twice")
    return found


def _participant(
    one: pb.Participant, field: str, kinds: Mapping[int, ParticipantKind]
) -> Participant:
    check_count(len(one.aliases), f"{field}.aliases", MAX_ALIASES)
    check_count(len(one.presences), f"{field}.presences", MAX_PRESENCES)
    id_ = required_id(one.id, f"{field}.id")
    budget = one.token_budget if one.HasField("token_budget") else None
    if budget == 0:
        raise invalid(f"{field}.token_budget", "must be positive")
    return Participant(
        id_,
        _name(one.name, f"{field}.name") or id_,
        enum_value(kinds, one.kind, f"{field}.kind"),
        _name(one.nickname, f"{field}.nickname"),
        tuple(
            required_id(_name(alias, f"{field}.aliases[{place}]"), f"{field}.aliases[{place}]")
            for place, alias in enumerate(one.aliases)
        ),
        check_text(one.persona, f"{field}.persona", MAX_PERSONA_BYTES),
        check_text(one.summary, f"{field}.summary", MAX_SUMMARY_BYTES),
        enum_value(_OBSERVE_WORDS, one.observe, f"{field}.observe"),
        enum_value(_REPLY_RULE_WORDS, one.reply, f"{field}.reply"),
        tuple(
            _presence(each, f"{field}.presences[{place}]")
            for place, each in enumerate(one.presences)
        ),
        check_id(one.model, f"{field}.model"),
        budget,
    )


def _name(name: str, field: str) -> str:
    return check_text(name, field, limits.MAX_NAME_BYTES).strip()


def _presence(one: pb.Presence, field: str) -> Presence:
    def seq(name: str) -> int | None:
        value: int | None = getattr(one, name) if one.HasField(name) else None
        if value is not None and value < 0:
            raise invalid(f"{field}.{name}", "is negative")
        return value

    def time(name: str) -> int | None:
        if not one.HasField(name):
            return None
        return check_time(getattr(one, name), f"{field}.{name}")

    return Presence(
        seq("after_sequence"), seq("until_sequence"), time("joined_at_ms"), time("left_at_ms")
    )


def policy_of(given: pb.RoomPolicy, field: str) -> RoomPolicy:
    """Settings of a session; what is unset stays open."""
    counts: dict[str, Any] = {}
    for name, (low, high) in _COUNTS.items():
        if given.HasField(name):
            counts[name] = check_range(getattr(given, name), f"{field}.{name}", low, high)
    check_count(len(given.preferred_ids), f"{field}.preferred_ids", MAX_PARTICIPANTS)
    check_count(
        len(given.allowed_author_ids), f"{field}.allowed_author_ids", limits.MAX_ALLOWED_AUTHORS
    )
    if given.language:
        read_language(given.language, f"{field}.language")
    label = given.question_label if given.HasField("question_label") else None
    return RoomPolicy(
        unaddressed=enum_value(_UNADDRESSED_WORDS, given.unaddressed, f"{field}.unaddressed"),
        default_id=check_id(given.default_id, f"{field}.default_id"),
        preferred_ids=tuple(given.preferred_ids),
        sequential=given.sequential if given.HasField("sequential") else None,
        question_label=label
        if label is None
        else check_text(label, f"{field}.question_label", limits.MAX_LABEL_BYTES),
        profile=check_id(given.profile, f"{field}.profile"),
        layout=enum_value(LAYOUT_WORDS, given.layout, f"{field}.layout") if given.layout else None,
        language=given.language,
        author_visibility=enum_value(
            AUTHOR_VISIBILITY_WORDS, given.author_visibility, f"{field}.author_visibility"
        ),
        allowed_author_ids=tuple(given.allowed_author_ids),
        prompt=check_text(given.prompt, f"{field}.prompt", MAX_PERSONA_BYTES),
        **counts,
    )


def config_text(text: str, field: str) -> str:
    """A configuration or a state as it came, if it is not too large."""
    return check_text(text, field, MAX_STATE_BYTES)


def space_of(given: pb.Space) -> Space:
    """A space."""
    return Space(
        required_id(given.slug, "space.slug"),
        check_id(given.project_id, "space.project_id"),
        participants_of(given.participants, "space.participants", ParticipantKind.PERSONA),
        check_id(given.mode, "space.mode") or "free_chat",
        config_text(given.role_config_json, "space.role_config_json"),
        policy_of(given.policy, "space.policy"),
    )


def draft_of(given: pb.Session) -> SessionDraft:
    """What a session is to begin with."""
    check_count(len(given.aliases), "session.aliases", MAX_ALIASES)
    return SessionDraft(
        check_id(given.session_id, "session.session_id"),
        check_id(given.space, "session.space"),
        check_id(given.project_id, "session.project_id"),
        check_id(given.owner_id, "session.owner_id"),
        check_id(given.channel, "session.channel"),
        tuple(
            required_id(one, f"session.aliases[{place}]") for place, one in enumerate(given.aliases)
        ),
        check_text(given.title, "session.title", limits.MAX_NAME_BYTES),
        check_id(given.parent_id, "session.parent_id"),
        check_id(given.mode, "session.mode"),
        config_text(given.role_config_json, "session.role_config_json"),
        policy_of(given.policy, "session.policy"),
        participants_of(given.participants, "session.participants"),
        enum_value(_STATUS_WORDS, given.status, "session.status") or SessionStatus.ACTIVE,
    )


def draft_of_export(given: pb.Session) -> SessionDraft:
    """The same of a session that was exported: with its state, and all its participants."""
    return replace(
        draft_of(given),
        mode_state_json=config_text(given.mode_state_json, "session.mode_state_json"),
        is_complete=bool(given.participants),
    )


def edit_of(request: pb.UpdateSessionRequest) -> SessionEdit:
    """What is to change of a session."""

    def text(name: str, most_bytes: int) -> str | None:
        if not request.HasField(name):
            return None
        return check_text(getattr(request, name), name, most_bytes)

    check_count(len(request.add_aliases), "add_aliases", MAX_ALIASES)
    return SessionEdit(
        text("title", limits.MAX_NAME_BYTES),
        text("mode", limits.MAX_ID_BYTES),
        text("role_config_json", MAX_STATE_BYTES),
        enum_value(_STATUS_WORDS, request.status, "status"),
        policy_of(request.policy, "policy") if request.HasField("policy") else None,
        text("mode_state_json", MAX_STATE_BYTES),
        request.expected_state_version if request.HasField("expected_state_version") else None,
        tuple(
            required_id(one, f"add_aliases[{place}]")
            for place, one in enumerate(request.add_aliases)
        ),
    )


# --- to the wire -----------------------------------------------------------------------------------


def session_to_proto(session: Session, *, whole: bool = True) -> pb.Session:
    """A session; `whole`: with its participants and its mode's state.

    Without them it still has its mode and how that is set.
    """
    out = pb.Session(
        session_id=session.id,
        aliases=session.aliases,
        space=session.space,
        project_id=session.project_id,
        owner_id=session.owner_id,
        channel=session.key.channel,
        title=session.title,
        status=STATUS_NUMBERS[session.status],
        policy=policy_to_proto(session.policy),
        created_at_ms=session.created_at_ms,
        updated_at_ms=session.updated_at_ms,
        parent_id=session.parent_id,
        mode=session.mode,
        role_config_json=session.role_config_json,
    )
    if session.forked_from is not None:
        out.forked_from.session_id = session.forked_from.session_id
        out.forked_from.message_id = session.forked_from.message_id
    if whole:
        out.mode_state_json = session.mode_state_json
        out.state_version = session.state_version
        out.participants.extend(map(participant_to_proto, session.participants))
    return out


def participant_to_proto(one: Participant) -> pb.Participant:
    """A participant."""
    return pb.Participant(
        id=one.id,
        kind=KIND_NUMBERS[one.kind],
        name=one.name,
        nickname=one.nickname,
        aliases=one.aliases,
        persona=one.persona,
        summary=one.summary,
        observe=OBSERVE_NUMBERS[one.observe],
        reply=REPLY_RULE_NUMBERS[one.reply],
        presences=[
            pb.Presence(
                after_sequence=each.after_seq,
                until_sequence=each.until_seq,
                joined_at_ms=each.joined_at_ms,
                left_at_ms=each.left_at_ms,
            )
            for each in one.presences
        ],
        model=one.model,
        token_budget=one.token_budget,
    )


def policy_to_proto(policy: RoomPolicy) -> pb.RoomPolicy:
    """Settings; what is open stays unset."""
    out = pb.RoomPolicy(
        default_id=policy.default_id,
        preferred_ids=policy.preferred_ids,
        question_label=policy.question_label,
        profile=policy.profile,
        language=policy.language,
        allowed_author_ids=policy.allowed_author_ids,
        prompt=policy.prompt,
        **{name: getattr(policy, name) for name in _COUNTS},
    )
    if policy.sequential is not None:
        out.sequential = policy.sequential
    if policy.unaddressed is not None:
        out.unaddressed = UNADDRESSED_NUMBERS[policy.unaddressed]
    if policy.layout is not None:
        out.layout = LAYOUT_NUMBERS[policy.layout]
    if policy.author_visibility is not None:
        out.author_visibility = AUTHOR_VISIBILITY_NUMBERS[policy.author_visibility]
    return out


def space_to_proto(space: Space) -> pb.Space:
    """A space."""
    return pb.Space(
        slug=space.slug,
        project_id=space.project_id,
        participants=map(participant_to_proto, space.participants),
        mode=space.mode,
        role_config_json=space.role_config_json,
        policy=policy_to_proto(space.policy),
    )


def state_to_proto(one: LoggedState) -> pb.SessionState:
    """An entry of the log of states."""
    return pb.SessionState(
        id=one.id,
        previous_id=one.previous_id,
        state_version=one.state_version,
        mode=one.mode,
        event=one.event,
        actor_id=one.actor_id,
        at_ms=one.at_ms,
        mode_state_json=one.mode_state_json,
    )


def mode_to_proto(mode: Mode) -> pb.Mode:
    """A mode."""
    traits = mode.traits
    return pb.Mode(
        name=mode.name,
        role_config_schema_json=schema_of(mode.config_type),
        mode_state_schema_json=schema_of(mode.state_type),
        unaddressed=UNADDRESSED_NUMBERS[traits.unaddressed],
        heeds_mentions=traits.heeds_mentions,
        sequential=not traits.in_parallel,
        window_messages=traits.window_messages,
    )
