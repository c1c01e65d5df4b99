"""`backscroll demo`: a server, a real chat, three real questions, and what Backscroll makes of them."""

import json
import time
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from backscroll import Client, Context, Overrides
from backscroll.v1 import history_pb2
from backscroll_sidecar.cli import import_, options
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import json_text, out, print_json
from backscroll_sidecar.cli.context import texts
from backscroll_sidecar.cli.process import Running, server_for
from backscroll_sidecar.cli.render import LEGEND, as_dict, score_table, summary_line
from backscroll_sidecar.importers.items import Options

EPILOG = "Example: backscroll demo --keep"
INDEX_WAIT_S = 60.0
"""For the embedder to be loaded and 400 lines to be embedded: some 5 s."""
MAX_CONTEXT = 8
OTHERS = 4


def demo(
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the server running until Ctrl-C.")
    ] = False,
    profile: options.Profile = None,
    as_json: options.Json = False,
) -> None:
    """Start a server over a new database, import a real group chat, ask it three real questions, show what it picks.

    Needs no key and no network. The chat is an excerpt of the Ubuntu IRC channel; people have marked by hand which
    message each of the questions goes back to, and that one has a star here. The server does not know the marks.
    """
    if profile:
        options.known_profile(profile)
    asked = json.loads(_data("demo_questions.json").read_text("utf-8"))
    if not as_json:
        out().print("Starting a server (the first time compiles its kernels, a minute or more) …")
    with (
        server_for("demo") as (running, database),
        connected(options.Target(running.address)) as client,
    ):
        stored = _import(client)
        client.wait_for_index(asked["channel"], wait_s=INDEX_WAIT_S)
        built = [
            _build(client, asked["channel"], question, profile) for question in asked["questions"]
        ]
        if as_json:
            print_json(_as_json(running, stored, asked, built))
        else:
            _show(client, running, stored, asked, built)
        if keep:
            _wait(running, asked["channel"], database, as_json)


def _data(name: str) -> Any:  # noqa: ANN401 - a Traversable
    return resources.files("backscroll_sidecar") / "data" / name


def _import(client: Client) -> history_pb2.ImportMessagesResponse:
    from backscroll_sidecar.importers.sources import opened
    from backscroll_sidecar.importers.survey import survey

    with (
        resources.as_file(_data("demo_chat.jsonl.gz")) as path,
        opened([str(path)]) as sources,
    ):
        found = survey(sources, Options())
        return import_.send(client, Options(), found, quiet=True)


def _build(client: Client, channel: str, question: dict[str, Any], profile: str | None) -> Context:
    return client.build_context(
        channel,
        question["question"],
        asker=question["asker"],
        trigger_message_id=question["trigger_message_id"],
        profile=profile,
        overrides=Overrides(max_context=MAX_CONTEXT),
        explain=True,
    )


def _show(
    client: Client,
    running: Running,
    stored: history_pb2.ImportMessagesResponse,
    asked: dict[str, Any],
    built: list[Context],
) -> None:
    console = out()
    channel = asked["channel"]
    console.print(
        f"Serving on {running.address} after {running.start_s:.1f} s. "
        f"{stored.stored_count} messages of {channel} stored, {stored.duplicate_count} there already."
    )
    console.print(f"The demo asks for the best {MAX_CONTEXT} messages. {LEGEND}.", markup=False)
    for number, (question, context) in enumerate(
        zip(asked["questions"], built, strict=True), start=1
    ):
        console.rule(align="left", title=f"[bold]{number}. {escape(question['asker'])} asks")
        console.print(f"[bold]“{escape(question['question'])}”[/]")
        console.print(f"[dim]{question['why']}[/]", highlight=False)
        console.print(summary_line(context.raw))
        said = texts(client, channel, context)
        console.print(
            score_table(
                context.raw,
                said,
                marked=set(question["parents"]),
                others=OTHERS,
                width=console.width,
            )
        )
        console.print("The request body, to be posted to the model unchanged:")
        console.print(compact(context.payload), markup=False, soft_wrap=True)
    console.rule()
    _verdict(console, asked, built)


def _verdict(console: Console, asked: dict[str, Any], built: list[Context]) -> None:
    found = sum(
        _found(question, context)
        for question, context in zip(asked["questions"], built, strict=True)
    )
    console.print(
        f"★ is what the question goes back to, marked by hand: {found} of {len(built)} found."
    )
    console.print("Messages: Ubuntu IRC, Kummerfeld et al. 2019, CC BY 4.0.")


def _found(question: dict[str, Any], context: Context) -> bool:
    return set(question["parents"]) <= {item.message.id for item in context.items}


def compact(payload: dict[str, Any]) -> str:
    """JSON with one message a line."""
    rest = {name: value for name, value in payload.items() if name != "messages"}
    lines = [f"  {json.dumps(name)}: {json_text(value)}" for name, value in rest.items()]
    said = ",\n".join(f"    {json_text(one)}" for one in payload["messages"])
    return "{\n" + ",\n".join([*lines, '  "messages": [\n' + said + "\n  ]"]) + "\n}"


def _as_json(
    running: Running,
    stored: history_pb2.ImportMessagesResponse,
    asked: dict[str, Any],
    built: list[Context],
) -> dict[str, Any]:
    return {
        "server": running.address,
        "start_seconds": running.start_s,
        "channel": asked["channel"],
        "stored": stored.stored_count,
        "questions": [
            {**question, "found": _found(question, context), "context": as_dict(context.raw)}
            for question, context in zip(asked["questions"], built, strict=True)
        ],
    }


def _wait(running: Running, channel: str, database: Path, as_json: bool) -> None:
    if not as_json:
        console = out()
        console.print(
            f"\nThe server goes on at {running.address}, its database is {database}. Try:"
        )
        console.print(
            f'  backscroll context {channel} "how do I share my wireless network?" --server {running.address}'
        )
        console.print("Ctrl-C ends it and deletes the database.")
    with suppress(KeyboardInterrupt):
        while True:
            time.sleep(3600)
