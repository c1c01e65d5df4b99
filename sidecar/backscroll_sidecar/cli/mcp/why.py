"""`why_selected`: why these messages were picked and others were not, now or in a recorded build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backscroll.errors import NotFound
from backscroll.v1 import admin_pb2, context_pb2, message_pb2
from backscroll_sidecar.cli.mcp import chat_text
from backscroll_sidecar.cli.mcp.arguments import WhyArguments
from backscroll_sidecar.cli.mcp.chat import Chat, Refused
from backscroll_sidecar.cli.mcp.chat_text import Style, framed, message_line, within_bounds
from backscroll_sidecar.lines.line_safety import escape_name


async def why(chat: Chat, given: WhyArguments) -> str:
    """Why a question's messages were picked: asked now, or as it was recorded. Raises `Refused`."""
    asked = [given.question, given.trigger_message_id, given.context_id]
    if sum(map(bool, asked)) != 1:
        raise Refused(
            "give one of question, trigger_message_id and context_id, and only one of them"
        )
    style = chat.style(given.question)
    if given.context_id:
        return await _why_recorded(chat, given, style)
    built = await chat.build(
        given.question, given.token_budget, given.trigger_message_id, explain=True
    )
    candidates = built.raw.explanation.candidates
    said = {item.message.id: item.message for item in built.items}
    return await _told(chat, given, style, candidates, said)


async def _why_recorded(chat: Chat, given: WhyArguments, style: Style) -> str:
    try:
        record = await chat.client.get_usage_record(given.context_id)
    except NotFound:
        record = admin_pb2.UsageRecord()
    if record.channel != chat.channel:  # a build elsewhere is as good as none
        raise Refused(
            f"no build {escape_name(given.context_id)} is recorded in this channel; give the question instead"
        )
    ranks = {one: at + 1 for at, one in enumerate(_by_score(record.candidates))}
    candidates = [
        context_pb2.CandidateExplanation(
            message_id=one.message_id, channel=one.channel, score=one.score, fate=one.fate,
            rank=ranks.get(one.message_id, 0) if one.fate == context_pb2.FATE_SELECTED else 0,
        )
        for one in record.candidates
    ]  # fmt: skip
    head = style.words.recorded.format(context=escape_name(given.context_id))
    return f"{head}\n{await _told(chat, given, style, candidates, {})}"


def _by_score(candidates: Sequence[admin_pb2.RecordedCandidate]) -> list[str]:
    """Ids of those that were taken, the best first; a record keeps no ranks."""
    taken = [one for one in candidates if one.fate == context_pb2.FATE_SELECTED]
    return [one.message_id for one in sorted(taken, key=lambda one: -one.score)]


async def _told(
    chat: Chat,
    given: WhyArguments,
    style: Style,
    candidates: Sequence[context_pb2.CandidateExplanation],
    said: Mapping[str, message_pb2.Message],
) -> str:
    """The candidates that were taken and the best of those that were not; or the one that is asked about."""
    taken = sorted((one for one in candidates if _is_taken(one)), key=lambda one: one.rank)
    missed = sorted((one for one in candidates if not _is_taken(one)), key=lambda one: -one.score)
    if given.message_id:
        return await _told_of_one(chat, given.message_id, style, candidates, said)
    near = missed[: given.near_misses]
    unread = [
        one.message_id for one in (*taken, *near) if one.message_id not in said and not one.channel
    ]
    texts = {**said, **await chat.texts(unread)}
    words = style.words
    room = chat_text.MAX_ANSWER_CHARS // 2
    parts = []
    for title, rows, everything in (
        (words.taken_title, taken, candidates), (words.missed_title, near, missed),
    ):  # fmt: skip
        head = title.format(count=len(rows), all=len(everything))
        lines = [_line(one, texts, style) for one in rows]
        parts.append("\n".join([f"[[{head}]]", *within_bounds(words, lines, room)]))
    return framed(words, "", "\n".join(parts)).lstrip("\n")


async def _told_of_one(
    chat: Chat,
    message_id: str,
    style: Style,
    candidates: Sequence[context_pb2.CandidateExplanation],
    said: Mapping[str, message_pb2.Message],
) -> str:
    texts = {**said, **await chat.texts([message_id])}
    if message_id not in texts:
        raise Refused(
            f"there is no message {escape_name(message_id)} in this channel; take an id from the brackets that "
            "search_messages returns"
        )
    for one in candidates:
        if one.message_id == message_id and not one.channel:
            return framed(style.words, "", _line(one, texts, style)).lstrip("\n")
    head = style.words.no_candidate.format(message=escape_name(message_id))
    return framed(style.words, head, message_line(texts[message_id], style))


def _line(
    one: context_pb2.CandidateExplanation, texts: Mapping[str, message_pb2.Message], style: Style
) -> str:
    note = chat_text.candidate_note(one, style.words)
    if one.channel:
        note += f"; #{escape_name(one.channel)}"
    return chat_text.candidate_line(one.message_id, note, texts, style)


def _is_taken(one: context_pb2.CandidateExplanation) -> bool:
    return one.fate == context_pb2.FATE_SELECTED
