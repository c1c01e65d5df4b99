"""The pages: each asks, makes what it shows of the answers, and names its template."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

from backscroll.v1 import admin_pb2, experiment_pb2, history_pb2
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.edge.status import Code, Refused
from backscroll_sidecar.inspector import (
    cases,
    compared,
    experiments,
    explained,
    numbers_of_server,
    payload,
    recorded,
    timeline,
)
from backscroll_sidecar.inspector.asking import Asked
from backscroll_sidecar.inspector.question_fields import (
    TRIGGER,
    Pairs,
    both_of,
    changed,
    pairs_of,
    question_of,
)
from backscroll_sidecar.inspector.said import SHOWN_CHARS, Said, stored

P = ParamSpec("P")
T = TypeVar("T")
PAGE, CHANNELS = 100, 50
WHOLE_TEXT = 65_536
MOST_IDS = 1_000
AROUND = 8
"""Messages that are shown before one, and behind it."""
OWN_FIELDS = frozenset({"format", "fate", "from", "to", "line", "of", "part"})
"""Fields of an address that are the page's, not the question's."""
MINUTES = 60


class Beside:
    """What pages are made in: a thread beside the event loop, for one page at a time.

    Bots' calls do not wait until a page is drawn, and share the processor with one page, however many are open.
    """

    def __init__(self) -> None:
        self._one = asyncio.Lock()

    async def run(self, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Do this work, once it is its turn."""
        async with self._one:
            return await asyncio.to_thread(work, *given, **named)


@dataclass(slots=True)
class Visit:
    """A page that is asked for: its address's fields, who makes its calls, and where it is made.

    `is_part`: the browser wants only what takes the place of a part.
    """

    asked: Asked
    given: Pairs
    beside: Beside
    is_part: bool = False

    def field(self, name: str) -> str:
        """The first value of a field, empty without."""
        return next((value for key, value in self.given if key == name), "")

    @property
    def question_pairs(self) -> Pairs:
        """The fields that are the question's."""
        return [(name, value) for name, value in self.given if name not in OWN_FIELDS]


@dataclass(slots=True)
class Page:
    """What to show: a template, what stands on it, and a file where one is asked for."""

    template: str
    view: Mapping[str, Any]
    title: str
    channel: str = ""
    file: tuple[str, str, bytes] | None = None
    crumbs: Sequence[tuple[str, str]] = field(default_factory=list)


Handler = Callable[[Visit], Awaitable[Page]]


async def channels(visit: Visit) -> Page:
    """All channels; where there is none, what to do next."""
    request = history_pb2.ListChannelsRequest(
        limit=CHANNELS,
        page_token=visit.field("page_token"),
        name_contains=visit.field("name_contains"),
    )
    found = await visit.asked.ask(
        "HistoryService/ListChannels", request, history_pb2.ListChannelsResponse
    )
    view = {
        "channels": [
            {"channel": c.channel, "messages": c.message_count, "newest_ms": c.newest_sent_at_ms}
            for c in found.channels
        ],
        "next": found.next_page_token,
        "wanted": request.name_contains,
        "is_empty": not found.channels and not request.name_contains and not request.page_token,
    }
    return Page("welcome.html" if view["is_empty"] else "channels.html", view, "channels")


async def channel_timeline(visit: Visit) -> Page:
    """A channel's messages, a page of the newest first, or what a search finds."""
    channel, words = visit.field("channel"), visit.field("query")
    at = await visit.asked.ask(
        "HistoryService/GetChannel",
        history_pb2.GetChannelRequest(channel=channel),
        history_pb2.GetChannelResponse,
    )
    following = ""
    if words.strip():
        hits = await visit.asked.ask(
            "HistoryService/SearchMessages",
            history_pb2.SearchMessagesRequest(channel=channel, query=words, limit=PAGE),
            history_pb2.SearchMessagesResponse,
        )
        messages = [one.message for one in reversed(hits.hits)]
    else:
        request = history_pb2.ListMessagesRequest(
            channel=channel,
            limit=PAGE,
            newest_first=True,
            page_token=visit.field("page_token"),
            include_recalled=True,
            author_id=visit.field("author_id"),
        )
        answer = await visit.asked.ask(
            "HistoryService/ListMessages", request, history_pb2.ListMessagesResponse
        )
        messages, following = list(reversed(answer.messages)), answer.next_page_token
    view = {
        "channel": channel,
        "count": at.message_count,
        "newest_ms": at.newest_sent_at_ms,
        "query": words,
        "author_id": visit.field("author_id"),
        "page_token": visit.field("page_token"),
        "lines": timeline.timeline(messages),
        "next": following,
    }
    return Page("timeline.html", view, channel, channel)


async def message(visit: Visit) -> Page:
    """One message: all of it, its reply tree, and the builds that it asked for."""
    channel, message_id = visit.field("channel"), visit.field("id")
    found = await visit.asked.ask(
        "HistoryService/GetThread",
        history_pb2.GetThreadRequest(channel=channel, message_id=message_id, limit=PAGE),
        history_pb2.GetThreadResponse,
    )
    here = await _messages(visit, channel, [message_id])
    if not here:
        raise Refused(Code.NOT_FOUND, "the channel has no message of this id", "MESSAGE_NOT_FOUND")
    one = here[0]
    records = await _records(visit, channel=channel, trigger=one.message.id)
    view = {
        "channel": channel,
        "said": stored(one, WHOLE_TEXT),
        "keywords": list(one.keywords),
        "mentioned": list(one.mentioned_user_ids),
        "line": timeline.timeline([one])[0],
        "revision": one.revision,
        "tree": timeline.tree(found.messages),
        "around": timeline.timeline(await _around(visit, channel, one)),
        "builds": [recorded.record_line(r, {}) for r in records],
    }
    return Page("message.html", view, "message", channel)


async def question(visit: Visit) -> Page:
    """A question, as it would be built: every candidate and what decided."""
    request, built = await _built(visit, visit.question_pairs)
    shown = _shown(visit)
    view = {
        "page": await _explained(visit, request, built, shown),
        "pairs": _pinned(visit.question_pairs, request, built),
        "fate": shown.fate,
    }
    return Page(
        "_rows.html" if visit.is_part else "question.html", view, "question", request.channel
    )


async def line(visit: Visit) -> Page:
    """One candidate of a question: each term of its score, and the reason."""
    request, built = await _built(visit, visit.question_pairs)
    wanted = (visit.field("of"), visit.field("line"))
    texts = await _texts(visit, request.channel, [wanted], WHOLE_TEXT)
    shown = explained.Shown(keys={wanted})
    page = await visit.beside.run(explained.explained, request, built, texts, shown)
    lines = explained.lines_of(page.rows)
    chosen = next((o for o in lines if (o.channel, o.said.message_id) == wanted), None)
    if chosen is None:
        raise Refused(Code.NOT_FOUND, "the build has no such candidate", "MESSAGE_NOT_FOUND")
    view = {
        "page": page,
        "line": chosen,
        "said": texts.get(wanted, chosen.said),
        "pairs": _pinned(visit.question_pairs, request, built),
    }
    return Page("_line.html" if visit.is_part else "line.html", view, "line", request.channel)


async def compare(visit: Visit) -> Page:
    """One question built in two ways."""
    mine, otherwise = both_of(visit.question_pairs)
    request, one = await _built(visit, mine)
    pinned = _pinned(mine, request, one)
    other_request, other = await _built(visit, changed(pinned, otherwise))
    view = {
        "compared": await visit.beside.run(compared.compared, one, other),
        "question": explained.question_of(request, one),
        "pairs": pinned,
        "other_pairs": pairs_of(other_request),
        "otherwise": dict(otherwise),
        "asked_at_ms": one.asked_at_ms,
    }
    return Page(
        "_compared.html" if visit.is_part else "compare.html", view, "compare", request.channel
    )


async def payload_sent(visit: Visit) -> Page:
    """What the model is sent, byte for byte."""
    request, built = await _built(visit, visit.question_pairs, explain=False)
    page = payload.payload_page(built)
    file = None
    if visit.field("part") == "body" and page.payload:
        file = ("application/json", "payload.json", page.payload.body.encode())
    view = {
        "page": page,
        "tokens": explained.tokens_of(built.tokens),
        "pairs": _pinned(visit.question_pairs, request, built),
        "formats": payload.FORMATS,
    }
    return Page("payload.html", view, "payload", request.channel, file)


async def test_case(visit: Visit) -> Page:
    """The question with its chat as a test."""
    request, built = await _built(visit, visit.question_pairs)
    listing = history_pb2.ListMessagesRequest(
        channel=request.channel,
        limit=cases.MOST_MESSAGES,
        newest_first=True,
        until_ms=built.asked_at_ms + 1,
    )
    found = await _listed(visit, listing, cases.MOST_MESSAGES)
    case = await visit.beside.run(cases.case_of, request, built, found[::-1])
    files = {
        "json": ("application/json", "case.json", case.case_json.encode()),
        "test": ("text/x-python", "test_case.py", case.test.encode()),
    }
    view = {"case": case, "pairs": _pinned(visit.question_pairs, request, built)}
    return Page("case.html", view, "case", request.channel, files.get(visit.field("part")))


async def builds(visit: Visit) -> Page:
    """Recorded builds of a channel, the newest first."""
    channel = visit.field("channel")
    request = admin_pb2.ListUsageRecordsRequest(
        channel=channel,
        user_id=visit.field("user_id"),
        newest_first=True,
        limit=CHANNELS,
        page_token=visit.field("page_token"),
        with_shadows=True,
    )
    answer = await visit.asked.ask(
        "AdminService/ListUsageRecords", request, admin_pb2.ListUsageRecordsResponse
    )
    asked = [one.trigger_message_id for one in answer.records if one.channel == channel]
    texts = {one.message.id: stored(one) for one in await _messages(visit, channel, asked)}
    view = {
        "channel": channel,
        "builds": [recorded.record_line(one, texts) for one in answer.records],
        "next": answer.next_page_token,
        "page_token": request.page_token,
        "user_id": request.user_id,
    }
    return Page("builds.html", view, "builds", channel)


async def build(visit: Visit) -> Page:
    """A recorded build: what is kept of it, and the same question asked again at its moment."""
    answer = await visit.asked.ask(
        "AdminService/GetUsageRecord",
        admin_pb2.GetUsageRecordRequest(context_id=visit.field("id")),
        admin_pb2.GetUsageRecordResponse,
    )
    record = answer.record
    asked = [record.trigger_message_id] if record.trigger_message_id else []
    texts = {one.message.id: stored(one) for one in await _messages(visit, record.channel, asked)}
    events = await visit.asked.ask(
        "AdminService/ListEvents",
        admin_pb2.ListEventsRequest(channel=record.channel, context_id=record.context_id),
        admin_pb2.ListEventsResponse,
    )
    view: dict[str, Any] = {
        "record": recorded.record_page(record, texts),
        "events": [recorded.event_line(one) for one in events.events],
        "page": None,
        "pairs": [],
        "fate": "",
    }
    if texts:
        pairs = pairs_of(recorded.asked_again(record))
        fates = recorded.fates_of(record)
        request, built = await _built(visit, pairs)
        shown = explained.Shown(keys=_otherwise(built, fates))
        view["page"] = await _explained(visit, request, built, shown, fates)
        view["pairs"] = pairs
    return Page("build.html", view, "build", record.channel)


async def events(visit: Visit) -> Page:
    """Recorded events of a channel, the newest first."""
    channel = visit.field("channel")
    request = admin_pb2.ListEventsRequest(
        channel=channel, newest_first=True, limit=PAGE, page_token=visit.field("page_token")
    )
    answer = await visit.asked.ask("AdminService/ListEvents", request, admin_pb2.ListEventsResponse)
    view = {
        "channel": channel,
        "events": [recorded.event_line(one) for one in answer.events],
        "next": answer.next_page_token,
    }
    return Page("events.html", view, "events", channel)


async def trends(visit: Visit) -> Page:
    """What the server counted in its last hour."""
    answer = await _metrics(visit)
    view = {
        "panels": numbers_of_server.panels(answer),
        "periods": numbers_of_server.periods(answer),
    }
    return Page("trends.html", view, "trends")


async def health(visit: Visit) -> Page:
    """Whether somebody should look at the server."""
    answer = await _metrics(visit)
    return Page("health.html", {"checks": numbers_of_server.checks(answer)}, "health")


async def experiment_list(visit: Visit) -> Page:
    """All experiments."""
    answer = await visit.asked.ask(
        "AdminService/ListExperiments",
        experiment_pb2.ListExperimentsRequest(limit=PAGE, page_token=visit.field("page_token")),
        experiment_pb2.ListExperimentsResponse,
    )
    view = {
        "experiments": [experiments.experiment_line(one) for one in answer.experiments],
        "next": answer.next_page_token,
    }
    return Page("experiments.html", view, "experiments")


async def experiment(visit: Visit) -> Page:
    """What the arms of an experiment came to."""
    answer = await visit.asked.ask(
        "AdminService/GetExperimentReport",
        experiment_pb2.GetExperimentReportRequest(experiment_id=visit.field("id")),
        experiment_pb2.GetExperimentReportResponse,
    )
    return Page("experiment.html", {"report": experiments.report(answer)}, "experiment")


HANDLERS: Mapping[str, Handler] = {
    "": channels,
    "timeline": channel_timeline,
    "message": message,
    "question": question,
    "line": line,
    "compare": compare,
    "payload": payload_sent,
    "case": test_case,
    "builds": builds,
    "build": build,
    "events": events,
    "trends": trends,
    "health": health,
    "experiments": experiment_list,
    "experiment": experiment,
}
"""By the last part of the address."""


async def _built(
    visit: Visit, pairs: Iterable[tuple[str, str]], *, explain: bool = True
) -> tuple[pb.BuildContextRequest, pb.BuildContextResponse]:
    request = question_of(pairs)
    request.explain = explain
    built = await visit.asked.ask("ContextService/BuildContext", request, pb.BuildContextResponse)
    return request, built


def _pinned(pairs: Pairs, request: pb.BuildContextRequest, built: pb.BuildContextResponse) -> Pairs:
    """The question with its moment: what is asked of it next sees the same messages."""
    if request.HasField("asked_at_ms") or request.HasField(TRIGGER):
        return pairs
    return [*pairs, ("asked_at_ms", str(built.asked_at_ms))]


def _shown(visit: Visit) -> explained.Shown:
    start, end = visit.field("from"), visit.field("to")
    are_numbers = all(one.isascii() and one.isdigit() and len(one) < 10 for one in (start, end))
    unfolded = (int(start), int(end)) if are_numbers else None
    return explained.Shown(visit.field("fate"), unfolded)


def _otherwise(built: pb.BuildContextResponse, fates: Mapping[str, str]) -> list[explained.Key]:
    """Candidates of which the record tells another fate."""
    return [
        explained.key_of(one)
        for one in built.explanation.candidates
        if not one.channel
        and fates.get(one.message_id, "") not in {"", explained.FATE_OF[one.fate]}
    ]


async def _explained(
    visit: Visit,
    request: pb.BuildContextRequest,
    built: pb.BuildContextResponse,
    shown: explained.Shown,
    recorded_fates: Mapping[str, str] | None = None,
) -> explained.Explained:
    """The page of a build with its texts. Made beside the event loop: thousands of candidates take a while."""
    wanted = await visit.beside.run(explained.wanted_keys, built, shown)
    texts = await _texts(visit, request.channel, wanted)
    return await visit.beside.run(explained.explained, request, built, texts, shown, recorded_fates)


async def _texts(
    visit: Visit, channel: str, keys: Sequence[explained.Key], most_chars: int = SHOWN_CHARS
) -> dict[explained.Key, Said]:
    """What candidates say, whatever channel they are of; nothing of one that the caller's key may not read."""
    found: dict[explained.Key, Said] = {}
    for of in dict.fromkeys(of for of, _ in keys):
        ids = [message_id for at, message_id in keys if at == of]
        try:
            here = await _messages(visit, of or channel, ids)
        except Refused as refused:
            if refused.code is not Code.PERMISSION_DENIED or not of:
                raise
            continue
        found.update(((of, one.message.id), stored(one, most_chars)) for one in here)
    return found


async def _messages(
    visit: Visit, channel: str, ids: Sequence[str]
) -> list[history_pb2.StoredMessage]:
    """Messages of a channel by their ids, as many as are there."""
    found: list[history_pb2.StoredMessage] = []
    wanted = list(dict.fromkeys(filter(None, ids)))
    for at in range(0, len(wanted), MOST_IDS) if channel else ():
        request = history_pb2.ListMessagesRequest(
            channel=channel, message_ids=wanted[at : at + MOST_IDS], limit=MOST_IDS
        )
        found += await _listed(visit, request, MOST_IDS)
    return found


async def _listed(
    visit: Visit, request: history_pb2.ListMessagesRequest, most: int
) -> list[history_pb2.StoredMessage]:
    """Messages by as many calls as they need: an answer holds no more than some MiB."""
    found: list[history_pb2.StoredMessage] = []
    while True:
        answer = await visit.asked.ask(
            "HistoryService/ListMessages", request, history_pb2.ListMessagesResponse
        )
        found += answer.messages
        if not answer.next_page_token or len(found) >= most:
            return found[:most]
        following = history_pb2.ListMessagesRequest()
        following.CopyFrom(request)
        following.page_token = answer.next_page_token
        request = following


async def _around(
    visit: Visit, channel: str, one: history_pb2.StoredMessage
) -> list[history_pb2.StoredMessage]:
    """A message with those before and behind it."""
    at_ms = one.rank_time_ms
    before = history_pb2.ListMessagesRequest(
        channel=channel, until_ms=at_ms, newest_first=True, limit=AROUND
    )
    behind = history_pb2.ListMessagesRequest(channel=channel, since_ms=at_ms, limit=AROUND)
    found = {one.message.id: one}
    for request in (before, behind) if at_ms else ():
        answer = await visit.asked.ask(
            "HistoryService/ListMessages", request, history_pb2.ListMessagesResponse
        )
        found.update((other.message.id, other) for other in answer.messages)
    return sorted(found.values(), key=lambda other: other.sequence)


async def _records(visit: Visit, channel: str, trigger: str) -> Sequence[admin_pb2.UsageRecord]:
    """Builds that a message asked for; none for a key that may not read them."""
    request = admin_pb2.ListUsageRecordsRequest(
        channel=channel, trigger_message_id=trigger, newest_first=True, limit=20
    )
    try:
        answer = await visit.asked.ask(
            "AdminService/ListUsageRecords", request, admin_pb2.ListUsageRecordsResponse
        )
    except Refused as refused:
        if refused.code is not Code.PERMISSION_DENIED:
            raise
        return ()
    return answer.records


async def _metrics(visit: Visit) -> admin_pb2.GetMetricsResponse:
    return await visit.asked.ask(
        "AdminService/GetMetrics",
        admin_pb2.GetMetricsRequest(minutes=MINUTES),
        admin_pb2.GetMetricsResponse,
    )
