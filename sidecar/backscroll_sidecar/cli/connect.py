"""A client for a command, and its failures in the words of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from backscroll import Client, TlsConfig
from backscroll.errors import BackscrollError, Unauthenticated, Unavailable
from backscroll_sidecar.cli.console import CommandError, usage

ADVICE = {
    "BUDGET_TOO_SMALL": "give --token-budget at least {least_tokens}",
    "CHANNEL_NOT_FOUND": "store messages in it first, for example with: backscroll import",
    "MESSAGE_NOT_FOUND": "check the message id and the channel",
    "QUESTION_MISSING": "give a question, or name the message that holds it with --trigger",
    "STORE_READ_ONLY": "free disk space or make the database writable; contexts are still built",
    "UNKNOWN_PROFILE": "profiles are: {known}",
}


@contextmanager
def connected(
    server: str, token: str | None = None, tls_ca: Path | None = None, timeout_s: float = 30.0
) -> Iterator[Client]:
    """A client that talks to `server`; what goes wrong becomes a `CommandError`."""
    try:
        tls = TlsConfig(ca=tls_ca.read_bytes()) if tls_ca else None
        client = Client(server, token=token, tls=tls, timeout_s=timeout_s)
    except OSError as error:
        usage(f"{tls_ca} cannot be read: {error.strerror}")
    except ValueError as error:
        usage(str(error), "give --tls-ca")
    with client:
        try:
            yield client
        except BackscrollError as error:
            raise explained(error, server) from None


def explained(error: BackscrollError, server: str) -> CommandError:
    """An error of the server with what to do about it."""
    if isinstance(error, Unavailable) and not error.reason:
        advice = "start one with: backscroll serve   or name another with --server"
        return CommandError(f"no server answers at {server}", advice)
    if isinstance(error, Unauthenticated):
        return CommandError(str(error), "give --token, or set BACKSCROLL_TOKEN")
    advice = ADVICE.get(error.reason, "")
    for name, value in error.metadata.items():
        advice = advice.replace("{" + name + "}", value)
    return CommandError(str(error), advice)
