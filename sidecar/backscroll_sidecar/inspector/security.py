"""What keeps a page from doing what its chat says, and other sites from asking in a browser's name. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

REPORT_PATH = "csp-report"
MAX_POST_BYTES = 16_384
"""Of a form or a report; no form here has more."""
SCHEMES = ("http", "https")


def policy(root: str) -> str:
    """The content security policy: files of this server and nothing else; no script, style or frame of a page's own."""
    return "; ".join((
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        f"report-uri {root}/{REPORT_PATH}",
    ))  # fmt: skip


def headers(root: str) -> Mapping[str, str]:
    """What every answer has beside its content."""
    return {
        "content-security-policy": policy(root),
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
    }


def is_own_post(given: Mapping[str, str]) -> bool:
    """Whether a form was sent by a page of this server: browsers say where from, and no page can change that."""
    origin = given.get("origin")
    if origin is not None:
        scheme, _, host = origin.lower().partition("://")
        return scheme in SCHEMES and host == given.get("host", "").lower() != ""
    return given.get("sec-fetch-site") == "same-origin"


def token_cookie(given: Mapping[str, str]) -> str:
    """The name of the cookie with the token. It has the port: a browser sends cookies of a host to all its ports."""
    port = given.get("host", "").rpartition(":")[2]
    return f"backscroll_token_{port}" if port.isascii() and port.isdigit() else "backscroll_token"


def is_secure(given: Mapping[str, str], scheme: str) -> bool:
    """Whether the browser came by TLS: to us, or to a proxy before us, as the origin of its form tells."""
    return scheme == "https" or given.get("origin", "").lower().startswith("https://")


def own_path(path: str, root: str) -> str:
    """Where to go next: a path of the inspector's own, else its first page."""
    steps = unquote(re.split("[?#]", path)[0]).split("/")
    is_own = path.startswith(f"{root}/") and "\\" not in path and not {".", ".."} & set(steps)
    return path if is_own else f"{root}/"
