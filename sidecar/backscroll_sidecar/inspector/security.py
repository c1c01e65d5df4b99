"""What keeps a page from doing what its chat says, and other sites from asking in a browser's name. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

REPORT_PATH = "csp-report"
MAX_POST_BYTES = 16_384
"""Of a form or a report; no form here has more."""


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
        return urlsplit(origin).netloc.lower() == given.get("host", "").lower() != ""
    return given.get("sec-fetch-site") == "same-origin"


def own_path(path: str, root: str) -> str:
    """Where to go next: a path of the inspector's own, else its first page."""
    parts = urlsplit(path)
    is_own = not parts.scheme and not parts.netloc and "\\" not in path
    return path if is_own and (path == root or path.startswith(f"{root}/")) else f"{root}/"
