"""`backscroll context`: build one context and show how it came about."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import typer
from rich.markup import escape

from backscroll import Client, Context, Overrides
from backscroll.errors import BackscrollError
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.channels import naming_near_channels, near_words
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import err, out, print_json, usage
from backscroll_sidecar.cli.render import (
    SHOWN_OTHERS,
    Spoken,
    as_dict,
    score_table,
    spoken,
    summary_line,
    unknown_ids,
)
from backscroll_sidecar.cli.times import milliseconds

EPILOG = 'Example: backscroll context my-group "which one did you mean?" --asker u17'
PAGE = 1_000
LayoutName = Literal["turns", "context_and_question", "single_user", "system_and_user"]


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How the context is asked for."""

    asker: Annotated[str | None, typer.Option(metavar="ID", help="User id of who asks.")] = None
    trigger: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Id of the stored message that holds the question."),
    ] = None
    profile: options.Profile = None
    layout: Annotated[LayoutName | None, typer.Option(help="Layout of the messages.")] = None
    max_context: Annotated[
        int | None, typer.Option(help="Most messages to take.", min=1, max=500)
    ] = None
    token_budget: Annotated[
        int | None, typer.Option(help="Most tokens of the whole payload.", min=1)
    ] = None
    asked_at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="When it is asked: milliseconds, or ISO 8601 with an offset."
        ),
    ] = None
    catch_up_since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="What happened since then, instead of a question: as --asked-at."
        ),
    ] = None
    catch_up_after: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="What happened behind this message, instead of a question."
        ),
    ] = None
    self_id: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="User id of the bot; may be given several times."),
    ] = None
    source: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Source to look in, and no other; may be repeated."),
    ] = None
    threshold: Annotated[
        float | None, typer.Option(help="Least score of a message.", min=0.0, max=1.0)
    ] = None
    language: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="en, zh or auto; en-GB reads 01/02 as 1 February."),
    ] = None
    time_zone: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of dates, such as Asia/Shanghai.")
    ] = None


AS_SERVED = BuildOptions()


def context(
    channel: Annotated[str, typer.Argument(help="Channel the question is asked in.")],
    question: Annotated[
        str, typer.Argument(help="The question; may be left out with --trigger.")
    ] = "",
    how: BuildOptions = AS_SERVED,
    payload: Annotated[
        bool, typer.Option("--payload", help="Print the request body and nothing else.")
    ] = False,
    others: Annotated[
        int, typer.Option(help="How many messages that were not taken to show.", min=0)
    ] = SHOWN_OTHERS,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Build the context of one question and show which messages were taken, which were not, and why.

    Each row has its shares of the score. Nothing is stored.
    """
    when = milliseconds(how.asked_at, "--asked-at")
    since = milliseconds(how.catch_up_since, "--catch-up-since")
    if since is not None and how.catch_up_after is not None:
        usage("--catch-up-since and --catch-up-after both say from where on", "give one of them")
    with connected(target) as client, naming_near_channels(client, channel):
        built = client.build_context(
            channel,
            question,
            asker=how.asker,
            trigger_message_id=how.trigger,
            profile=how.profile,
            layout=how.layout,
            overrides=Overrides(
                max_context=how.max_context,
                relevance_threshold=how.threshold,
                sources=how.source or (),
            ),
            token_budget=how.token_budget,
            asked_at=when,
            catch_up=since if how.catch_up_after is None else how.catch_up_after,
            self_ids=how.self_id or (),
            language=how.language or "",
            time_zone=how.time_zone or "",
            explain=not payload,
        )
        said = {} if payload or as_json else texts(client, channel, built)
        if not built.channel_known:
            near = near_words(client.near_channels(channel))
            err().print(
                f"[yellow]the channel {escape(channel)} has no messages yet; {escape(near)}[/]"
            )
    if payload:
        sys.stdout.buffer.write(built.payload_bytes + b"\n")
    elif as_json:
        print_json(as_dict(built.raw))
    else:
        show(built, said, others)


def texts(client: Client, channel: str, built: Context) -> Mapping[str, Spoken]:
    """What the candidates say that were not taken; without it the table shows their ids."""
    ids = unknown_ids(built.raw)
    said: dict[str, Spoken] = {}
    try:
        for start in range(0, len(ids), PAGE):
            page = client.list_messages(
                channel, message_ids=ids[start : start + PAGE], page_size=PAGE
            )
            said.update((one.message.id, spoken(one.message)) for one in page)
    except BackscrollError:
        return said
    return said


def show(built: Context, said: Mapping[str, Spoken], others: int) -> None:
    """Print the build: one line about it, its table, where the tokens went."""
    console = out()
    response = built.raw
    console.print(summary_line(response))
    if response.summary:
        console.print(f"[dim]{escape(response.summary)}[/]")
    if response.explanation.candidates:
        console.print(score_table(response, said, others=others, width=console.width))
    if response.explanation.candidates and response.explanation.weights:
        explanation = response.explanation
        weights = ", ".join(
            f"{name.replace('_', ' ')} {weight:g}"
            for name, weight in zip(explanation.factors, explanation.weights, strict=False)
            if weight != 1.0  # those of a fitted model are in its shares already
        )
        listed = f"weights: {escape(weights)}; " if weights else ""
        console.print(
            f"[dim]shares are weight × factor; {listed}"
            f"threshold {explanation.threshold:g}; link {explanation.link}[/]"
        )
