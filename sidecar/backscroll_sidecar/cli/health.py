"""`backscroll health`: whether a server serves, for what watches it: a container's check, a script that waits."""

from typing import Annotated

import typer

from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.connect import connected, resolved
from backscroll_sidecar.cli.console import CommandError, out, print_json

EPILOG = "Example: backscroll health --server 127.0.0.1:7171"
SERVING = "serving"


def health(
    timeout: Annotated[
        float, typer.Option(help="Seconds to wait for the answer.", min=0.001)
    ] = 3.0,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Say whether a server serves, by gRPC's own health service; exit with 1 where it does not.

    It needs no token.
    """
    target = resolved(target)
    with connected(target, timeout_s=timeout) as client:
        status = client.health()
    if as_json:
        print_json({"server": target.server, "health": status})
    else:
        out().print(status, markup=False)
    if status != SERVING:
        raise CommandError(
            f"{target.server} does not serve yet, or not any more", "look at its log"
        )
