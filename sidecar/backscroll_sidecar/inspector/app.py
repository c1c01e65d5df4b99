"""The inspector as an application of Starlette: addresses, login, answers as pages or JSON, and what guards them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

import msgspec
import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from backscroll.v1 import history_pb2
from backscroll_sidecar.edge.http.requests import body_of
from backscroll_sidecar.edge.status import Code, Refused
from backscroll_sidecar.inspector import demo, security
from backscroll_sidecar.inspector.addresses import PAGES
from backscroll_sidecar.inspector.asking import Asked, Browser, Calls
from backscroll_sidecar.inspector.commands import commands_of
from backscroll_sidecar.inspector.drawing import Look, Templates
from backscroll_sidecar.inspector.facts import Facts
from backscroll_sidecar.inspector.page_texts import language_wanted
from backscroll_sidecar.inspector.question_fields import BadField
from backscroll_sidecar.inspector.visits import Beside, Handler, Page, Visit
from backscroll_sidecar.texts import Language

log = structlog.get_logger("backscroll.inspector")

HERE = Path(__file__).parent
ROOT = "/inspector"
TOKEN, LANGUAGE, THEME = "backscroll_token", "backscroll_language", "backscroll_theme"
THEMES = ("light", "dark")
YEAR_S = 365 * 86_400
MAX_FIELDS = 200

_STATUS: Mapping[Code, HTTPStatus] = {
    Code.INVALID_ARGUMENT: HTTPStatus.BAD_REQUEST,
    Code.NOT_FOUND: HTTPStatus.NOT_FOUND,
    Code.PERMISSION_DENIED: HTTPStatus.FORBIDDEN,
    Code.UNAUTHENTICATED: HTTPStatus.UNAUTHORIZED,
    Code.FAILED_PRECONDITION: HTTPStatus.CONFLICT,
    Code.ABORTED: HTTPStatus.CONFLICT,
    Code.RESOURCE_EXHAUSTED: HTTPStatus.TOO_MANY_REQUESTS,
    Code.UNIMPLEMENTED: HTTPStatus.NOT_IMPLEMENTED,
    Code.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
    Code.DEADLINE_EXCEEDED: HTTPStatus.GATEWAY_TIMEOUT,
}


class Inspector:
    """Answers the pages. Safe for any number of requests at once on one event loop.

    Attributes
    ----------
    report_count
        Reports of browsers that something on a page was not permitted.
    """

    def __init__(self, calls: Calls, facts: Facts, root: str = ROOT) -> None:
        self._calls, self._facts, self._root = calls, facts, root
        self._templates = Templates(HERE / "templates", root, facts.profiles, version("backscroll"))
        self._headers = security.headers(root)
        self._beside = Beside()
        self.report_count = 0

    def routes(self) -> list[BaseRoute]:
        """Its pages, and the way to them from the address alone."""
        pages = [
            Route(f"/{name}", self._guarded(partial(self._page, handler)), methods=["GET"])
            for name, handler in PAGES.items()
        ]
        posts = {
            "demo": self._load_demo,
            "display": self._display,
            "login": self._login,
            "logout": self._logout,
        }
        forms = [
            Route(f"/{name}", self._guarded(self._posted(handler)), methods=["POST"])
            for name, handler in posts.items()
        ]
        others: list[BaseRoute] = [
            Route("/login", self._guarded(self._login_page), methods=["GET"]),
            Route(f"/{security.REPORT_PATH}", self._guarded(self._report), methods=["POST"]),
            Mount("/static", app=_Static(directory=HERE / "static")),
            Route("/{rest:path}", self._guarded(self._nothing_there), methods=["GET"]),
        ]
        return [
            *(
                Route(path, self._guarded(self._first_page), methods=["GET"])
                for path in ("/", self._root)
            ),
            Mount(self._root, routes=[*pages, *forms, *others]),
        ]

    def _guarded(
        self, answer: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """With the headers of a page."""

        async def guarded(request: Request) -> Response:
            response = await answer(request)
            response.headers.update(self._headers)
            response.headers.setdefault("cache-control", "no-store")
            return response

        return guarded

    def _posted(
        self, handler: Callable[[Request, Mapping[str, str]], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """A form of a page of ours, and no other site's."""

        async def posted(request: Request) -> Response:
            if not security.is_own_post(request.headers):
                return Response(
                    "The form is of another site.\n", HTTPStatus.FORBIDDEN, media_type="text/plain"
                )
            body = await body_of(request, security.MAX_POST_BYTES)
            fields = parse_qsl(body.decode(errors="replace"))
            return await handler(request, dict(fields))

        return posted

    async def _page(self, handler: Handler, request: Request) -> Response:
        given = parse_qsl(request.url.query, keep_blank_values=True)
        asked = Asked(self._calls, Browser(_token(request)))
        is_part = request.headers.get("hx-request") == "true"
        visit = Visit(asked, given, self._beside, is_part)
        wants_json = visit.field("format") == "json"
        try:
            if len(given) > MAX_FIELDS:
                raise BadField("fields", f"at most {MAX_FIELDS}")
            page = await handler(visit)
        except BadField as bad:
            refused = Refused(Code.INVALID_ARGUMENT, str(bad), "INVALID_FIELD", {"field": bad.name})
            return self._refused(request, refused, asked, wants_json)
        except Refused as refused:
            if refused.code is Code.UNAUTHENTICATED and not wants_json:
                return self._to_login(request)
            return self._refused(request, refused, asked, wants_json)
        if page.file:
            kind, name, content = page.file
            return Response(
                content,
                media_type=kind,
                headers={"content-disposition": f"attachment; filename={name}"},
            )
        if wants_json:
            return await self._beside.run(_json, asked, {"page": page.view})
        return await self._beside.run(self._drawn, request, page, asked)

    def _drawn(
        self,
        request: Request,
        page: Page,
        asked: Asked,
        status: HTTPStatus = HTTPStatus.OK,
    ) -> Response:
        facts = self._facts
        commands = [
            commands_of(
                made, facts.grpc_address, has_tls=facts.has_tls, has_token=facts.needs_token
            )
            for made in asked.made
        ]
        body = self._templates.draw(page, self._look(request), commands)
        return Response(
            body,
            status,
            {"vary": "cookie, accept-language, hx-request"},
            "text/html; charset=utf-8",
        )

    def _look(self, request: Request) -> Look:
        theme = request.cookies.get(THEME, "")
        wanted = request.cookies.get(LANGUAGE, "") or request.headers.get("accept-language", "")
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return Look(
            language=language_wanted(wanted),
            theme=theme if theme in THEMES else "",
            path=path,
            query=parse_qsl(request.url.query, keep_blank_values=True),
            has_token=bool(request.cookies.get(TOKEN)),
        )

    def _refused(
        self, request: Request, refused: Refused, asked: Asked, wants_json: bool
    ) -> Response:
        status = _STATUS.get(refused.code, HTTPStatus.INTERNAL_SERVER_ERROR)
        error = {
            "code": refused.code.name,
            "reason": refused.reason,
            "message": refused.text,
            "metadata": dict(refused.metadata),
        }
        if wants_json:
            return _json(asked, {"error": error}, status)
        return self._drawn(request, Page("error.html", {"error": error}, "error"), asked, status)

    async def _first_page(self, request: Request) -> Response:  # noqa: ARG002
        return _to(f"{self._root}/")

    async def _nothing_there(self, request: Request) -> Response:
        refused = Refused(Code.NOT_FOUND, "there is no such page", "PAGE_NOT_FOUND")
        return self._refused(request, refused, Asked(self._calls, Browser()), wants_json=False)

    def _to_login(self, request: Request) -> Response:
        if request.headers.get("hx-request") == "true":
            return Response(headers={"hx-redirect": f"{self._root}/login"})
        after = f"{request.url.path}?{request.url.query}".rstrip("?")
        return _to(f"{self._root}/login?{urlencode({'next': after})}")

    async def _login_page(self, request: Request) -> Response:
        after = security.own_path(request.query_params.get("next", ""), self._root)
        page = Page("login.html", {"next": after, "is_wrong": False}, "login")
        return self._drawn(request, page, Asked(self._calls, Browser()))

    async def _login(self, request: Request, form: Mapping[str, str]) -> Response:
        """Take a token into a cookie that no script reads, where it is one."""
        token, after = form.get("token", "").strip(), form.get("next", "")
        asked = Asked(self._calls, Browser(token))
        try:
            await asked.ask(
                "HistoryService/ListChannels",
                history_pb2.ListChannelsRequest(limit=1),
                history_pb2.ListChannelsResponse,
            )
        except Refused as refused:
            if refused.code is Code.UNAUTHENTICATED:
                view = {"next": security.own_path(after, self._root), "is_wrong": True}
                return self._drawn(
                    request, Page("login.html", view, "login"), asked, HTTPStatus.UNAUTHORIZED
                )
            if (
                refused.code is not Code.PERMISSION_DENIED
            ):  # a key that may not list is one all the same
                return self._refused(request, refused, asked, wants_json=False)
        response = _to(security.own_path(after, self._root))
        self._keep(request, response, TOKEN, token)
        return response

    async def _logout(self, request: Request, form: Mapping[str, str]) -> Response:  # noqa: ARG002
        response = _to(f"{self._root}/")
        response.delete_cookie(TOKEN, path=self._root, httponly=True, samesite="strict")
        return response

    async def _display(self, request: Request, form: Mapping[str, str]) -> Response:
        """Keep how somebody wants pages: their language, light or dark."""
        response = _to(security.own_path(form.get("next", ""), self._root))
        chosen = {
            LANGUAGE: (form.get("language"), (Language.EN.value, Language.ZH.value)),
            THEME: (form.get("theme"), THEMES),
        }
        for name, (value, known) in chosen.items():
            if value in known:
                self._keep(request, response, name, value, YEAR_S)
        return response

    def _keep(
        self, request: Request, response: Response, name: str, value: str, most_s: int | None = None
    ) -> None:
        """Have the browser keep a value, of any characters; without `most_s` until it is closed."""
        response.set_cookie(
            name,
            quote(value, safe=""),
            max_age=most_s,
            path=self._root,
            secure=security.is_secure(request.headers, request.url.scheme),
            httponly=True,
            samesite="strict",
        )

    async def _load_demo(self, request: Request, form: Mapping[str, str]) -> Response:  # noqa: ARG002
        """Append the demo chat, and show it."""
        asked = Asked(self._calls, Browser(_token(request)))
        batches = await self._beside.run(demo.batches)
        try:
            for one in batches:
                await asked.ask(
                    "HistoryService/AppendMessages", one, history_pb2.AppendMessagesResponse
                )
        except Refused as refused:
            if refused.code is Code.UNAUTHENTICATED:
                return _to(f"{self._root}/login")
            asked.made.clear()
            return self._refused(request, refused, asked, wants_json=False)
        return _to(f"{self._root}/timeline?{urlencode({'channel': batches[0].channel})}")

    async def _report(self, request: Request) -> Response:
        """Count that a browser kept a page from something. What it says is not kept: it may hold a chat.

        The log is told of the first, the second, the fourth and so on: who sends many fills no disk.
        """
        await body_of(request, security.MAX_POST_BYTES)
        self.report_count += 1
        if self.report_count.bit_count() == 1:
            log.warning("inspector.blocked", count=self.report_count)
        return Response(status_code=HTTPStatus.NO_CONTENT)


class _Static(StaticFiles):
    """Files of the pages, which a browser may keep for an hour."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:  # noqa: ANN401 - as it is given
        response = super().file_response(*args, **kwargs)
        response.headers["cache-control"] = "max-age=3600"
        response.headers["x-content-type-options"] = "nosniff"
        return response


def _token(request: Request) -> str:
    """What somebody gave at the login, or what a program sends with each request."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else unquote(request.cookies.get(TOKEN, ""))


def _to(path: str) -> Response:
    return RedirectResponse(path, HTTPStatus.SEE_OTHER)


def _json(asked: Asked, shown: Mapping[str, Any], status: HTTPStatus = HTTPStatus.OK) -> Response:
    calls = [{"method": one.method, "request": one.body} for one in asked.made]
    body = msgspec.json.encode({"calls": calls, **shown}, enc_hook=_plain)
    return Response(body, status, media_type="application/json")


def _plain(value: Any) -> Any:  # noqa: ANN401 - what msgspec does not know
    return list(value) if isinstance(value, Sequence) else dict(value)
