"""A client for a command, and its failures in the words of the command line."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from backscroll import AsyncClient, Client, TlsConfig
from backscroll._channel import DEFAULT_TARGET
from backscroll.errors import OTHERWISE, BackscrollError, Unauthenticated, Unavailable
from backscroll_sidecar.cli.check_config import loaded_or_refuse
from backscroll_sidecar.cli.console import CommandError, usage
from backscroll_sidecar.cli.options import Target
from backscroll_sidecar.config.sources import ConfigFileError, dotenv_value
from backscroll_sidecar.edge.bind_policy import parse_address
from backscroll_sidecar.errors import StartRefused

AnyClient = TypeVar("AnyClient", Client, AsyncClient)
ADVICE = {
    "BUDGET_TOO_SMALL": "give --token-budget at least {least_tokens}",
    "CHANNEL_NOT_FOUND": "store messages in it first, for example with: backscroll import",
    "MESSAGE_NOT_FOUND": "check the message id and the channel",
    "QUESTION_MISSING": "give a question, or name the message that holds it with --trigger",
    "SESSION_NOT_FOUND": "backscroll sessions list shows those there are; one in a space needs --space",
    "SPACE_NOT_FOUND": "check the name of the space",
    "SESSION_CLOSED": "it is sealed or archived: it can be read and exported, or begin another one",
    "UNKNOWN_MODE": "modes are: {known}",
    "NAME_TAKEN": "give one of {participant_id} and {other_id} another name than {name}",
    "EXPERIMENT_NOT_FOUND": "backscroll experiments list shows those there are",
    "CHANNELS_WOULD_MOVE": "--move lets them; what was recorded before says little of the arms then",
    "EXPERIMENTS_OVERLAP": "stop {experiment_id} first, or start when it has stopped",
    "STORE_READ_ONLY": "free disk space or make the database writable; contexts are still built",
}
NOBODY = ("Connection refused", "No such file")
"""What gRPC says where nobody listens. The client says it in its own words, and quotes gRPC only on anything else."""


def resolved(given: Target) -> Target:
    """Where to call, with which token: what was given, else ``.env``, else the first address of the settings here."""
    try:
        token = given.token or dotenv_value("BACKSCROLL_TOKEN") or None
        server = given.server or dotenv_value("BACKSCROLL_SERVER")
    except ConfigFileError as error:
        usage(str(error))
    if not server:
        first = loaded_or_refuse().settings.listen[0]
        server = DEFAULT_TARGET if first.endswith(":0") else first
    try:
        parse_address(server)
    except StartRefused:
        usage(
            f"{server} is no address of a server", "give host:port, [v6 address]:port or unix:path"
        )
    return Target(server, token, given.tls_ca)


@contextmanager
def connected(target: Target, timeout_s: float = 30.0) -> Iterator[Client]:
    """A client that talks to the `resolved` target; what goes wrong becomes a `CommandError`."""
    target = resolved(target)
    client = _made(Client, target, timeout_s)
    with client, _explaining(target):
        yield client


@contextmanager
def connected_for_talk(
    target: Target, timeout_s: float = 30.0
) -> Iterator[tuple[asyncio.Runner, AsyncClient]]:
    """As `connected`, for calls that Ctrl-C ends and others follow: the runner carries out the client's calls.

    A `Client` is no good for these: a KeyboardInterrupt inside gRPC can leave a lock held, and the next call hangs.
    """
    target = resolved(target)
    with asyncio.Runner() as runner:
        client = _made(AsyncClient, target, timeout_s)
        try:
            with _explaining(target):
                yield runner, client
        finally:
            runner.run(client.close())


def _made(kind: type[AnyClient], target: Target, timeout_s: float) -> AnyClient:
    try:
        tls = TlsConfig(ca=target.tls_ca.read_bytes()) if target.tls_ca else None
        return kind(target.server, token=target.token, tls=tls, timeout_s=timeout_s)
    except OSError as error:
        usage(f"{target.tls_ca} cannot be read: {error.strerror}")
    except ValueError as error:
        usage(str(error), "give --tls-ca" if "token" in str(error) else "")


@contextmanager
def _explaining(target: Target) -> Iterator[None]:
    try:
        yield
    except BackscrollError as error:
        raise explained(error, target) from None


def explained(error: BackscrollError, target: Target) -> CommandError:
    """An error of the server with what to do about it."""
    if isinstance(error, Unavailable) and not error.reason:
        return no_server(error, target)
    if isinstance(error, Unauthenticated):
        return CommandError(str(error), "give --token, or set BACKSCROLL_TOKEN")
    if error.reason == "UNKNOWN_PROFILE":
        known, given = error.metadata.get("known", ""), error.metadata.get("given", "")
        return CommandError(
            f'there is no profile "{given}" [UNKNOWN_PROFILE]', f"profiles are: {known}"
        )
    advice = ADVICE.get(error.reason, "")
    for name, value in error.metadata.items():
        advice = advice.replace("{" + name + "}", value)
    return CommandError(str(error), advice)


def no_server(error: BackscrollError, target: Target) -> CommandError:
    """Nobody there, or somebody who speaks otherwise: TLS or none."""
    advice = (
        "start one with: backscroll serve   or name another with --server\n"
        "one that starts for the first time compiles for a minute or more before it answers"
    )
    is_told = error.message.startswith("no server answers") and OTHERWISE not in error.message
    if is_told or any(words in error.message for words in NOBODY):
        return CommandError(f"no server answers at {target.server}", advice)
    other = (
        "maybe its certificate is another, or it speaks no TLS: leave out --tls-ca"
        if target.tls_ca is not None
        else "maybe it speaks TLS: give --tls-ca"
    )
    return CommandError(
        f"no server answers at {target.server} in these words", f"{other}\n{advice}"
    )
