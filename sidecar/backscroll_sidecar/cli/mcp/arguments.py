"""What the tools take. No argument names a channel or a person: those are the operator's."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

MIN_BUDGET_TOKENS, MAX_BUDGET_TOKENS, DEFAULT_BUDGET_TOKENS = 256, 16_000, 2_000
MAX_HITS, DEFAULT_HITS = 50, 20
MAX_MISSES, DEFAULT_MISSES = 40, 10


class Arguments(BaseModel):
    """Of a tool: what it does not know is refused, a channel above all."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


QuestionText = Annotated[str, Field(max_length=4_000)]
MessageId = Annotated[str, Field(max_length=512)]


class SearchArguments(Arguments):
    """Of `search_messages`."""

    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=1_000,
            description="The words. A message must hold all of them.",
        ),
    ]
    limit: Annotated[int, Field(ge=1, le=MAX_HITS, description="Most messages to return.")] = (
        DEFAULT_HITS
    )


class ContextArguments(Arguments):
    """Of `build_context`."""

    question: Annotated[
        QuestionText,
        Field(min_length=1, description="The question, in the words and the language of the chat."),
    ]
    token_budget: Annotated[
        int,
        Field(
            ge=MIN_BUDGET_TOKENS,
            le=MAX_BUDGET_TOKENS,
            description="Most tokens of the messages and the question.",
        ),
    ] = DEFAULT_BUDGET_TOKENS


class WhyArguments(Arguments):
    """Of `why_selected`."""

    question: Annotated[
        QuestionText, Field(description="The question, as it was given to build_context.")
    ] = ""
    trigger_message_id: Annotated[
        MessageId,
        Field(description="Instead: id of the stored message that asked, as the bot was asked."),
    ] = ""
    context_id: Annotated[
        str, Field(max_length=128, description="Instead: a recorded build of the bot's, by its id.")
    ] = ""
    message_id: Annotated[
        MessageId, Field(description="Tell of this message alone: was it taken, and why not?")
    ] = ""
    near_misses: Annotated[
        int,
        Field(ge=0, le=MAX_MISSES, description="How many messages that were not taken to tell of."),
    ] = DEFAULT_MISSES
    token_budget: Annotated[
        int,
        Field(
            ge=MIN_BUDGET_TOKENS,
            le=MAX_BUDGET_TOKENS,
            description="As it was given to build_context.",
        ),
    ] = DEFAULT_BUDGET_TOKENS


def misfits(error: ValidationError, arguments: type[Arguments]) -> str:
    """What is wrong with a tool's arguments, field by field, without their values; and what it takes."""
    wrong = "; ".join(
        f"{'.'.join(map(str, one['loc']))[:64]}: {one['msg'].removeprefix('Input ')}"
        for one in error.errors(include_url=False, include_input=False)
    )
    return f"{wrong}. The arguments are: {', '.join(arguments.model_fields)}"
