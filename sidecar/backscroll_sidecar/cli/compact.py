"""`backscroll compact`: summarise what a conversation holds before its newest part."""

from typing import Annotated

import typer
from google.protobuf.json_format import MessageToDict

from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.channels import naming_near_channels
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import err, out, print_json

EPILOG = 'Example: backscroll compact my-group --focus "open orders"'
SAID = {
    pb.COMPACT_OUTCOME_NOTHING_TO_DO: "nothing to do: no message is left before the part that is kept as it is",
    pb.COMPACT_OUTCOME_NO_PROGRESS: "no progress: a summary would save next to nothing",
}


def compact(
    channel: Annotated[str, typer.Argument(help="Channel of the conversation.")],
    thread: Annotated[
        str, typer.Option(metavar="ID", help="Only this thread of it, for contexts of that thread.")
    ] = "",
    focus: Annotated[
        str, typer.Option(metavar="TEXT", help="What the summary shall heed above all.")
    ] = "",
    without_model: Annotated[
        bool,
        typer.Option("--without-model", help="Take the people's own words; call no model."),
    ] = False,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Summarise what a conversation holds before its newest part, and show the summary that holds then.

    Builds show it from then on. Messages are never deleted; what is erased, recalled or edited takes the summary along.
    """
    with connected(target) as client, naming_near_channels(client, channel):
        made = client.compact(channel, thread_id=thread, focus=focus, without_model=without_model)
    if as_json:
        print_json(MessageToDict(made, preserving_proto_field_name=True))
        return
    if made.summary:
        out().print(made.summary, markup=False, soft_wrap=True)
    told = err()
    if made.outcome == pb.COMPACT_OUTCOME_COMPACTED:
        told.print(
            f"{made.message_count} messages: {made.tokens_before} tokens became {made.tokens_after}"
        )
    else:
        told.print(SAID[made.outcome])
    if made.largest_message_id:
        told.print(f"the largest message that stays: {made.largest_message_id}", markup=False)
    if made.model_failure:
        told.print(f"the model's summary was not taken: {made.model_failure}")
