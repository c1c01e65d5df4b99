"""Building contexts."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypedDict, TypeVar, Unpack

from backscroll._calls.plan import Call, Plan
from backscroll._encode import encode
from backscroll.results import Context
from backscroll.v1 import context_pb2, message_pb2
from backscroll.values import (
    Author,
    AuthorVisibilityName,
    Embedding,
    LayoutName,
    Media,
    Mention,
    Overrides,
    PayloadFormatName,
    Reply,
    ResponsePartName,
    SearchScopeName,
    SpeakerStyleName,
    StoredSystemRowsName,
    SystemPrompt,
    TimeStyleName,
    TokenizerName,
    ToolOutputsName,
    When,
    author_of,
    mentions_of,
    reply_of,
)

P = ParamSpec("P")
T = TypeVar("T")


class PromptOptions(TypedDict, total=False):
    """The keywords of `build_context` that say what a prompt is like, whoever asks what."""

    profile: str | None
    overrides: Overrides | Mapping[str, Any] | context_pb2.Overrides | None
    layout: LayoutName | int | None
    speaker_style: SpeakerStyleName | int | None
    time_style: TimeStyleName | int | None
    time_zone: str
    include_system: bool
    tools_json: str
    reserve_tokens: int | None
    preferences: Sequence[str]
    token_budget: int | None
    tokenizer: TokenizerName | int | None
    payload_formats: PayloadFormatName | Sequence[PayloadFormatName | int]
    model: str
    explain: bool
    include_names: bool
    question_label: str | None
    visible_since_membership: bool
    semantic_scope: SearchScopeName | int | None
    stored_system_rows: StoredSystemRowsName | int | None
    omit: ResponsePartName | Sequence[ResponsePartName | int]
    language: str
    provider: str
    without_summary: bool
    tool_outputs: ToolOutputsName | int | None
    tool_output_chars: int | None
    cache_marks: bool | None
    include_pictures: bool
    author_visibility: AuthorVisibilityName | int | None
    allowed_author_ids: Sequence[str]
    exploration_seed: int | None


class ContextOptions(PromptOptions, total=False):
    """The keywords of `build_context`, for the calls that build a context on their way."""

    asker: str | Author | message_pb2.Author | None
    trigger_message_id: str | None
    asked_at: When | None
    reply: str | Reply | message_pb2.Reply | None
    mentions: Sequence[str | Mention | message_pb2.Mention]
    thread_id: str | None
    session_id: str | None
    self_ids: Sequence[str]
    system: str | SystemPrompt | context_pb2.SystemPrompt | None
    query_embedding: Embedding | message_pb2.Embedding | None
    pictures: str | Sequence[str | Media | message_pb2.MediaPart]
    viewer_id: str
    catch_up: str | When | context_pb2.CatchUp | None


def _unexpected(name: str) -> TypeError:
    """For a keyword that there is not; one of the overrides is told where it belongs."""
    words = f"got an unexpected keyword argument {name!r}"
    if name in Overrides.__annotations__:
        words += f": it is a setting of the profile, give overrides=Overrides({name}=...)"
    return TypeError(words)


def _telling_overrides(describe: Callable[P, T]) -> Callable[P, T]:
    known = inspect.signature(describe).parameters

    @functools.wraps(describe)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        if unknown := kwargs.keys() - known.keys():
            raise _unexpected(min(unknown))
        return describe(*args, **kwargs)

    return checked


@_telling_overrides
def build_context(
    channel: str = "",
    question: str = "",
    *,
    asker: str | Author | message_pb2.Author | None = None,
    trigger_message_id: str | None = None,
    asked_at: When | None = None,
    reply: str | Reply | message_pb2.Reply | None = None,
    mentions: Sequence[str | Mention | message_pb2.Mention] = (),
    thread_id: str | None = None,
    session_id: str | None = None,
    self_ids: Sequence[str] = (),
    profile: str | None = None,
    overrides: Overrides | Mapping[str, Any] | context_pb2.Overrides | None = None,
    layout: LayoutName | int | None = None,
    speaker_style: SpeakerStyleName | int | None = None,
    time_style: TimeStyleName | int | None = None,
    time_zone: str = "",
    system: str | SystemPrompt | context_pb2.SystemPrompt | None = None,
    include_system: bool = False,
    tools_json: str = "",
    reserve_tokens: int | None = None,
    preferences: Sequence[str] = (),
    query_embedding: Embedding | message_pb2.Embedding | None = None,
    token_budget: int | None = None,
    tokenizer: TokenizerName | int | None = None,
    payload_formats: PayloadFormatName | Sequence[PayloadFormatName | int] = (),
    model: str = "",
    explain: bool = False,
    include_names: bool = False,
    question_label: str | None = None,
    visible_since_membership: bool = False,
    semantic_scope: SearchScopeName | int | None = None,
    stored_system_rows: StoredSystemRowsName | int | None = None,
    omit: ResponsePartName | Sequence[ResponsePartName | int] = (),
    language: str = "",
    provider: str = "",
    without_summary: bool = False,
    tool_outputs: ToolOutputsName | int | None = None,
    tool_output_chars: int | None = None,
    cache_marks: bool | None = None,
    pictures: str | Sequence[str | Media | message_pb2.MediaPart] = (),
    include_pictures: bool = False,
    viewer_id: str = "",
    author_visibility: AuthorVisibilityName | int | None = None,
    allowed_author_ids: Sequence[str] = (),
    exploration_seed: int | None = None,
    catch_up: str | When | context_pb2.CatchUp | None = None,
    timeout_s: float | None = None,
) -> Plan[Context]:
    """Pick the few messages that matter for a question, as model input.

    It changes nothing on the server. A channel never heard of gives an empty context.

    Parameters
    ----------
    channel
        Where the question was asked. Empty: the asker's own messages in any channel.
    question
        The text the model will answer. May be empty only with `trigger_message_id`.
    asker
        Who asks: an `Author`, or the id alone. None: the trigger's author.
    trigger_message_id
        The stored message that holds the question; it is left out of the history and gives what
        the request leaves out. None: the asker's newest message with that text, if there is one.
    asked_at
        The time everything refers to; later messages are not seen. None: the trigger's time, else
        now.
    reply, mentions
        What the question answers and whom it names. Left out: the trigger's.
    thread_id
        Only messages of this container of the channel.
    session_id
        The session: lines of others are left out, and `viewer_id` sees what that participant may.
    self_ids
        The bot's own user ids, or the only one as text; other bots' lines are shown as theirs.
    profile, overrides
        The named way of picking, and single settings of it to change: `Overrides` or a dict.
    layout, speaker_style, time_style, time_zone
        How messages are shown: "turns", "context_and_question", "single_user" or
        "system_and_user"; speakers by "role" or "tagged"; times as "none", "iso_date" or
        "relative" in an IANA time zone such as "Asia/Shanghai" (empty: UTC).
    system, include_system
        The bot's instruction, text or `SystemPrompt`. The payload has it in any case;
        `include_system` puts it into messages and text as well.
    tools_json
        JSON array of the tool schemas the payload will carry.
    preferences
        Lines about the asker, as the bot knows them.
    query_embedding
        The vector of the question, if the bot has one.
    token_budget, reserve_tokens, tokenizer
        Cap of the whole payload, what of it is kept free for the reply, and what counts:
        "o200k_base", "chars_4" or "bytes_4".
    payload_formats, model
        Vendors' request bodies to make ("openai_chat" if left out, or "none"), and the model
        named in them.
    explain
        Ask for every candidate with its scores and fate.
    include_names
        Put authors' names into the payload's own name field, where the vendor has one.
    question_label
        What precedes the question in the layouts that put it behind the context.
    visible_since_membership
        Leave out what was said while the asker was no member. Who never was one sees nothing.
    semantic_scope
        Where the semantic source looks: "channel", "user" (the asker's channels) or "tenant", as
        far as the server's configuration permits.
    stored_system_rows
        How stored system messages are shown: "user" (lines of the chat), "system" or "skip". None:
        as the server is set.
    omit
        Copies of the selected text that are not read and need not be sent: "item_messages" (of
        each item's message the id stays), "messages", "payloads", "text". Reading one of the last
        three from the context raises `Omitted`.
    language
        Of the texts the server adds: "auto" (the question's by its script, else English), "en" or
        "zh". "": as the server is set.
    provider
        Where the payload will be posted, such as "api.anthropic.com/v1": what only a provider can
        read goes back to nobody else. "": the address of the server's own model.
    without_summary
        Leave out the summary of the conversation, where there is one.
    tool_outputs, tool_output_chars
        Results of tools in the history: "keep" them whole, show "head_tail" of so many characters,
        or "skip" them. None: as the server is set.
    cache_marks
        Put the marks into payloads that vendors' prompt caches want. None: with profile "steady".
    pictures
        Shown to the model with the question: links ("https://…") or data ("data:image/png;base64,…"),
        8 at most. They are not stored.
    include_pictures
        Show those of the stored question and of the message it replies to, too, where their uri is
        such a link.
    viewer_id
        For whose eyes it is: a participant of the session, a user or a bot. It sees what is for
        everybody, what is for it, and what it wrote; of a session what was said while it took part.
        "": the first of `self_ids`, else what is for everybody.
    author_visibility, allowed_author_ids
        Whose text is shown: "all", that of an "allowlist", or theirs and what the question replies
        to ("allowlist_quote"). The asker's and `self_ids`' always is. None: the session's, else all.
    exploration_seed
        What a draw of the last places goes by, such as `exploration.seed` of an earlier context, which it
        draws again. None: policy, channel, day and trigger message make one.
    catch_up
        What happened since: behind the message of this id, or from this time on. The best lines that
        fit are shown, and `summary` says how much was said. The question may then be left out.
    timeout_s
        Deadline of the call. None: the client's.

    Raises
    ------
    InvalidRequest
        With reason QUESTION_MISSING, BUDGET_TOO_SMALL (metadata "least_tokens" would do),
        UNKNOWN_PROFILE, INVALID_FIELD or TOO_LARGE.
    NotFound
        If there is no message `trigger_message_id`, and no question. With one, the context is built
        all the same, and its degradations name TRIGGER_NOT_FOUND.

    Examples
    --------
    >>> context = client.build_context(
    ...     "room",
    ...     "when do we meet?",
    ...     asker="ann",
    ...     system="You are a helpful cat.",
    ...     layout="single_user",
    ...     token_budget=2000,
    ...     preferences=["likes short answers"],
    ... )
    >>> context.payload["messages"][-1]["role"]
    'user'
    """
    request = context_request(
        channel,
        question,
        asker=asker,
        trigger_message_id=trigger_message_id,
        asked_at=asked_at,
        reply=reply,
        mentions=mentions,
        thread_id=thread_id,
        session_id=session_id,
        self_ids=self_ids,
        profile=profile,
        overrides=overrides,
        layout=layout,
        speaker_style=speaker_style,
        time_style=time_style,
        time_zone=time_zone,
        system=system,
        include_system=include_system,
        tools_json=tools_json,
        reserve_tokens=reserve_tokens,
        preferences=preferences,
        query_embedding=query_embedding,
        token_budget=token_budget,
        tokenizer=tokenizer,
        payload_formats=payload_formats,
        model=model,
        explain=explain,
        include_names=include_names,
        question_label=question_label,
        visible_since_membership=visible_since_membership,
        semantic_scope=semantic_scope,
        stored_system_rows=stored_system_rows,
        omit=omit,
        language=language,
        provider=provider,
        without_summary=without_summary,
        tool_outputs=tool_outputs,
        tool_output_chars=tool_output_chars,
        cache_marks=cache_marks,
        pictures=pictures,
        include_pictures=include_pictures,
        viewer_id=viewer_id,
        author_visibility=author_visibility,
        allowed_author_ids=allowed_author_ids,
        exploration_seed=exploration_seed,
        catch_up=catch_up,
    )
    response: context_pb2.BuildContextResponse = yield Call("BuildContext", request, timeout_s)
    return Context.of(response, request)


def _catch_up(given: Any) -> Any:  # noqa: ANN401 - checked where it is encoded
    """An id as the last known message, a time as the first of what is new."""
    if given is None or isinstance(given, context_pb2.CatchUp):
        return given
    name = "since_message_id" if isinstance(given, str) else "since_ms"
    return encode(context_pb2.CatchUp, **{name: given})


def _pictures(given: Any) -> list[Any]:  # noqa: ANN401 - checked where it is encoded
    """Links as media; one alone as a list of it."""
    listed = [given] if isinstance(given, str) else given
    return [Media("image", uri=one) if isinstance(one, str) else one for one in listed]


def context_request(
    channel: str, question: str, **options: Unpack[ContextOptions]
) -> context_pb2.BuildContextRequest:
    """Make the request of friendly values; what is left out stays unset."""
    if unknown := options.keys() - ContextOptions.__annotations__.keys():
        raise _unexpected(min(unknown))
    values: dict[str, Any] = dict(options)
    overrides, system = values.get("overrides"), values.get("system")
    values |= {
        "asker": author_of(values.get("asker")),
        "asked_at_ms": values.pop("asked_at", None),
        "reply": reply_of(values.get("reply")),
        "mentions": mentions_of(values.get("mentions", ())),
        "overrides": Overrides(**overrides) if isinstance(overrides, Mapping) else overrides,
        "pictures": _pictures(values.get("pictures", ())),
        "catch_up": _catch_up(values.get("catch_up")),
        "system": SystemPrompt(system) if isinstance(system, str) else system,
    }
    return encode(context_pb2.BuildContextRequest, channel=channel, question=question, **values)
