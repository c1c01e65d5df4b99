"""What the inspector is told of its server. Imports nothing of what draws pages, which is an extra."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Facts:
    """What the inspector is told of its server.

    Attributes
    ----------
    grpc_address : where the calls of a page can be made by hand.
    has_tls : whether that address speaks TLS.
    needs_token : callers prove who they are.
    profiles : that a question may name.
    """

    grpc_address: str
    has_tls: bool = False
    needs_token: bool = False
    profiles: Sequence[str] = ()
