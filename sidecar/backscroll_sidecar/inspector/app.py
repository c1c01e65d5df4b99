"""The inspector as an application of Starlette: addresses, login, answers as pages or JSON, and what guards them."""

from __future__ import annotations

from collections import Counter
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
from backscroll_sidecar.edge.http.bodies import Bodies
from backscroll_sidecar.edge.status import Code, Refused
from backscroll_sidecar.inspector import demo, security
from backscroll_sidecar.inspector.addresses import PAGES
from backscroll_sidecar.inspector.asking import Asked, Browser, Calls
from backscroll_sidecar.inspector.commands import commands_of
from backscroll_sidecar.inspector.drawing import Look, Templates
from backscroll_sidecar.inspector.facts import Facts
from backscroll_sidecar.inspector.logins import Tries
from backscroll_sidecar.inspector.page_texts import language_wanted
from backscroll_sidecar.inspector.question_fields import BadField
from backscroll_sidecar.inspector.refusals import refusal_of, status_of, told
from backscroll_sidecar.inspector.visits import Beside, Handler, Page, Visit
from backscroll_sidecar.texts import Language

log = structlog.get_logger("backscroll.inspector")

HERE = Path(__file__).parent
ROOT = "/inspector"
LANGUAGE, THEME = "backscroll_language", "backscroll_theme"
THEMES = ("light", "dark")
YEAR_S = 365 * 86_400
MAX_FIELDS = 200


class Inspector:
    """Answers the pages. Safe for any number of requests at once on one event loop.

    Attributes
    ----------
    counts
        How often a browser kept a page from something, and how often a login had to wait.
    """

    def __init__(self, calls: Calls, facts: Facts, root: str = ROOT) -> None:
        self._calls, self._facts, self._root = calls, facts, root
        self._bodies = Bodies()
        self._templates = Templates(HERE / "templates", root, facts.profiles, version("backscroll"))
        self._headers = security.headers(root)
        self._beside = Beside()
        self._tries = Tries()
        self.counts: Counter[str] = Counter()

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
                refused = Refused(Code.PERMISSION_DENIED, reason="OTHER_SITE")
                return self._turned_away(request, refused)
            try:
                body = await self._bodies.read(request, security.MAX_POST_BYTES)
            except Refused as refused:
                return self._turned_away(request, refused)
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
            return self._refused(request, refusal_of(bad), asked, wants_json)
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
        if wants_json and page.refused:
            return self._refused(request, page.refused, asked, wants_json)
        if wants_json:
            return await self._beside.run(_json, asked, {"page": page.view})
        status = status_of(page.refused) if page.refused else HTTPStatus.OK
        return await self._beside.run(self._drawn, request, page, asked, status)

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
            has_token=security.token_cookie(request.headers) in request.cookies,
        )

    def _refused(
        self, request: Request, refused: Refused, asked: Asked, wants_json: bool
    ) -> Response:
        status, error = status_of(refused), told(refused)
        if wants_json:
            return _json(asked, {"error": error}, status)
        return self._drawn(request, Page("error.html", {"error": error}, "error"), asked, status)

    async def _first_page(self, request: Request) -> Response:  # noqa: ARG002
        return _to(f"{self._root}/")

    async def _nothing_there(self, request: Request) -> Response:
        refused = Refused(Code.NOT_FOUND, reason="PAGE_NOT_FOUND")
        return self._turned_away(request, refused)

    def _turned_away(self, request: Request, refused: Refused) -> Response:
        """Before any call is made."""
        return self._refused(request, refused, Asked(self._calls, Browser()), wants_json=False)

    def _to_login(self, request: Request) -> Response:
        if request.headers.get("hx-request") == "true":
            return Response(headers={"hx-redirect": f"{self._root}/login"})
        after = f"{request.url.path}?{request.url.query}".rstrip("?")
        return _to(f"{self._root}/login?{urlencode({'next': after})}")

    async def _login_page(self, request: Request) -> Response:
        after = security.own_path(request.query_params.get("next", ""), self._root)
        return self._login_drawn(request, after)

    def _login_drawn(
        self, request: Request, after: str, refused: Refused | None = None
    ) -> Response:
        """The form of the login, with what was wrong."""
        view = {"next": after, "error": told(refused) if refused else None}
        status = status_of(refused) if refused else HTTPStatus.OK
        asked = Asked(self._calls, Browser())
        return self._drawn(request, Page("login.html", view, "login"), asked, status)

    async def _login(self, request: Request, form: Mapping[str, str]) -> Response:
        """Take a token into a cookie that no script reads, where it is one."""
        token = form.get("token", "").strip()
        after = security.own_path(form.get("next", ""), self._root)
        client = request.client.host if request.client else ""
        if wait_s := self._tries.take(client):
            return self._must_wait(request, after, wait_s)
        asked = Asked(self._calls, Browser(token))
        try:
            await asked.ask(
                "HistoryService/ListChannels",
                history_pb2.ListChannelsRequest(limit=1),
                history_pb2.ListChannelsResponse,
            )
        except Refused as refused:
            if refused.code is Code.UNAUTHENTICATED:
                return self._login_drawn(request, after, refused)
            self._tries.give_back(client)
            if (
                refused.code is not Code.PERMISSION_DENIED
            ):  # a key that may not list is one all the same
                return self._refused(request, refused, asked, wants_json=False)
        else:
            self._tries.give_back(client)
        response = _to(after)
        self._keep(request, response, security.token_cookie(request.headers), token)
        return response

    def _must_wait(self, request: Request, after: str, wait_s: int) -> Response:
        """Too many wrong tokens: this one is not looked at."""
        metadata = {"retry_after_s": str(wait_s)}
        refused = Refused(Code.RESOURCE_EXHAUSTED, "", "TOO_MANY_LOGINS", metadata)
        self._told("inspector.login_refused")
        response = self._login_drawn(request, after, refused)
        response.headers["retry-after"] = str(wait_s)
        return response

    async def _logout(self, request: Request, form: Mapping[str, str]) -> Response:  # noqa: ARG002
        response = _to(f"{self._root}/")
        name = security.token_cookie(request.headers)
        response.delete_cookie(name, path=self._root, httponly=True, samesite="strict")
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

    def _told(self, event: str) -> None:
        """Count what anybody may cause. The log is told of the first, the second, the fourth and so on.

        So who causes many fills no disk.
        """
        self.counts[event] += 1
        if self.counts[event].bit_count() == 1:
            log.warning(event, count=self.counts[event])

    async def _report(self, request: Request) -> Response:
        """Count that a browser kept a page from something. What it says is not kept: it may hold a chat."""
        await self._bodies.read(request, security.MAX_POST_BYTES)
        self._told("inspector.blocked")
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
    kept = request.cookies.get(security.token_cookie(request.headers), "")
    return token.strip() if scheme.lower() == "bearer" else unquote(kept)


def _to(path: str) -> Response:
    return RedirectResponse(path, HTTPStatus.SEE_OTHER)


def _json(asked: Asked, shown: Mapping[str, Any], status: HTTPStatus = HTTPStatus.OK) -> Response:
    calls = [{"method": one.method, "request": one.body} for one in asked.made]
    body = msgspec.json.encode({"calls": calls, **shown}, enc_hook=_plain)
    return Response(body, status, media_type="application/json")


def _plain(value: Any) -> Any:  # noqa: ANN401 - what msgspec does not know
    return list(value) if isinstance(value, Sequence) else dict(value)
