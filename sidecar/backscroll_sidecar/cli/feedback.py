"""`backscroll feedback`: what people say of answers."""

from typing import Annotated

import typer
from google.protobuf.json_format import MessageToDict

from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import out, print_json

EPILOG = 'Example: backscroll feedback 3f0c… --rating 5 --user ann --text "just right"'


def feedback(
    context: Annotated[
        str, typer.Argument(metavar="CONTEXT_ID", help="The build behind the answer.")
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
    value = (
        f": {told.success_indicator:.2f} of 1 by all who rated it"
        if told.HasField("success_indicator")
        else ""
    )
    out().print(f"recorded for {told.context_id}{value}", soft_wrap=True)
