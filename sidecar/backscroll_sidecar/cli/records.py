"""`backscroll records` and `backscroll feedback`: what builds chose from, and what people say of the answers."""

from datetime import UTC, datetime
from typing import Annotated, Literal

import typer
from google.protobuf.json_format import MessageToDict
from rich.markup import escape
from rich.table import Table

from backscroll.v1 import context_pb2
from backscroll.v1.admin_pb2 import UsageRecord
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import out, print_json, usage

RECORDS_EPILOG = "Example: backscroll records my-group --candidates --json > records.jsonl"
FEEDBACK_EPILOG = 'Example: backscroll feedback 3f0c… --rating 5 --user ann --text "just right"'
PAGE = 200


def records(
    channel: Annotated[
        str, typer.Argument(help="Only builds of this channel; none: of all channels.")
    ] = "",
    context: Annotated[
        str, typer.Option(metavar="ID", help="Show this build, with all it scored.")
    ] = "",
    user: Annotated[
        str, typer.Option(metavar="ID", help="Only builds that this user asked for.")
    ] = "",
    candidates: Annotated[
        bool, typer.Option("--candidates", help="With every message that was scored (--json).")
    ] = False,
    limit: Annotated[
        int, typer.Option(help="How many of the newest to show; 0: all.", min=0)
    ] = 100,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Show recorded builds, oldest first: what was chosen, the answer, what was said of it.

    With --json one object a line, which is an export.
    """
    if context and (channel or user):
        usage("--context names one build", "Leave out the channel and --user.")
    with connected(target) as client:
        if context:
            found = [client.get_usage_record(context)]
        else:
            found = [
                *client.list_usage_records(
                    channel,
                    user_id=user,
                    with_candidates=candidates and as_json,
                    newest_first=True,
                    limit=limit or None,
                    page_size=PAGE,
                )
            ][::-1]
    if as_json:
        for one in found:
            print_json(MessageToDict(one, preserving_proto_field_name=True), indent=None)
    elif context:
        _show(found[0])
    else:
        out().print(_table(found))


def _table(found: list[UsageRecord]) -> Table:
    table = Table(box=None, header_style="bold")
    for name in ("when", "context", "channel", "asked by", "shown", "tokens", "said of it"):
        justify: Literal["left", "right"] = "right" if name in {"shown", "tokens"} else "left"
        table.add_column(name, justify=justify, no_wrap=name in {"when", "context"})
    for one in found:
        table.add_row(
            _when(one.created_at_ms),
            one.context_id,
            escape(one.channel),
            escape(one.user_id),
            str(len(one.context_message_ids)),
            str(one.token_count),
            escape(_said_of(one)),
        )
    return table


def _show(one: UsageRecord) -> None:
    console = out()
    facts = {
        "context": one.context_id,
        "built": f"{_when(one.created_at_ms)} in {one.build_microseconds} µs",
        "channel": one.channel,
        "asked by": one.user_id,
        "trigger": one.trigger_message_id,
        "policy": one.policy_id,
        "tokens": f"{one.token_count} of {one.token_budget}",
        "answer": f"{one.reply_message_id} {one.llm_response}".strip(),
        "said of it": _said_of(one),
    }
    for name, fact in facts.items():
        if fact:
            console.print(f"{name:>11}  {escape(fact)}", soft_wrap=True)
    table = Table(box=None, header_style="bold")
    for name in ("score", "fate", "message"):
        table.add_column(name, justify="right" if name == "score" else "left")
    for message in sorted(one.candidates, key=lambda each: -each.score):
        fate = context_pb2.Fate.Name(message.fate).removeprefix("FATE_").lower()
        where = f" ({message.channel})" if message.channel else ""
        table.add_row(f"{message.score:.4f}", fate, escape(message.message_id + where))
    console.print(table)


def _said_of(one: UsageRecord) -> str:
    value = f"{one.success_indicator:.2f}" if one.HasField("success_indicator") else ""
    return f"{value} {one.user_feedback}".strip()


def _when(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def feedback(
    context: Annotated[
        str, typer.Argument(metavar="[CONTEXT_ID]", help="The build behind the answer.")
    ] = "",
    channel: Annotated[
        str, typer.Option(metavar="NAME", help="With --reply: the channel of the answer.")
    ] = "",
    reply: Annotated[
        str, typer.Option(metavar="ID", help="The stored answer, instead of the build.")
    ] = "",
    user: Annotated[str, typer.Option(metavar="ID", help="Who says it.")] = "",
    rating: Annotated[int | None, typer.Option(help="1, of no use, to 5.", min=1, max=5)] = None,
    success: Annotated[
        float | None,
        typer.Option(help="0 to 1, instead of what the rating comes to.", min=0, max=1),
    ] = None,
    text: Annotated[str, typer.Option(metavar="TEXT", help="In the user's words.")] = "",
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Record what somebody says of an answer, in the place of what they said before."""
    with connected(target) as client:
        told = client.record_feedback(
            context,
            channel=channel,
            reply_message_id=reply,
            user_id=user,
            rating=rating,
            success=success,
            text=text,
        )
    if as_json:
        print_json(MessageToDict(told, preserving_proto_field_name=True))
        return
    value = f": {told.success_indicator:.2f}" if told.HasField("success_indicator") else ""
    out().print(f"recorded for {told.context_id}{value}", soft_wrap=True)
