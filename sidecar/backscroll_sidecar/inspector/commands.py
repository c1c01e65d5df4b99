"""A call of a page as a command to copy. Pure."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass

from backscroll_sidecar.inspector.asking import PACKAGE, Made
from backscroll_sidecar.inspector.said import UNSEEN


@dataclass(frozen=True, slots=True)
class Command:
    """One call, as two programs make it. A token stands in neither: both take it from the environment."""

    method: str
    backscroll: str
    grpcurl: str


def commands_of(made: Made, address: str, *, has_tls: bool, has_token: bool) -> Command:
    """How to make the same call by hand."""
    body = json.dumps(made.body, ensure_ascii=False, separators=(", ", ": "))
    request = shlex.quote(UNSEEN.sub(_escaped, body))
    name = made.method.rpartition("/")[2]
    ours = ["backscroll call", name, request, f"--server {shlex.quote(address)}"]
    theirs = ["grpcurl", "" if has_tls else "-plaintext"]
    if has_tls:
        ours.append("--tls-ca ca.pem")
    if has_token:
        theirs.append('-H "authorization: Bearer $BACKSCROLL_TOKEN"')
    if address.startswith("unix:"):
        theirs.append("-unix")
    theirs += [f"-d {request}", shlex.quote(address.removeprefix("unix:")), PACKAGE + made.method]
    return Command(made.method, " ".join(ours), " ".join(filter(None, theirs)))


def _escaped(found: re.Match[str]) -> str:
    """A character as JSON has it in ASCII alone."""
    units = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
