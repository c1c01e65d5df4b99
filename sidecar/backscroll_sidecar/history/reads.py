"""Reading history: pages, trees, people, search. Everything here only reads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from backscroll_sidecar.allowed_channels import AllowedChannels, just_before
from backscroll_sidecar.analyze import Analyzer
from backscroll_sidecar.concurrency.time_slicing import LoopSlices
from backscroll_sidecar.domain import (
    MAX_BATCH_ITEMS,
    MAX_PINNED,
    MAX_QUERY_BYTES,
    MAX_SEARCH_HITS,
    ChannelKey,
    Member,
    MessageState,
    Reply,
    StoredMessage,
)
from backscroll_sidecar.errors import InvalidRequest, NotFound, Reason, unknown_channel
from backscroll_sidecar.history.validate import check_id, check_ids, check_key
from backscroll_sidecar.ports import (
    PIN,
    ChannelInfo,
    EmbeddingProgress,
    EventQuery,
    HistoryReader,
    ListQuery,
    RecordedEvent,
    Waited,
)

MAX_PAGE = 1_000
CHANNELS_PAGE = 50
"""So many are looked at in one read: each is counted, and other reads wait meanwhile."""
MAX_INT64 = 2**63 - 1
SEARCH_PAGE = 500
SEARCH_ROWS = 20_000
SEARCH_ROW_US = 2


@dataclass(frozen=True, slots=True)
class SearchHits:
    """Messages found, newest first. `complete`: the whole channel was looked at, or `limit` was reached."""

    messages: tuple[StoredMessage, ...]
    scanned_count: int
    complete: bool


class HistoryReads:
    """What can be asked of history. A channel never heard of is `NotFound` everywhere."""

    def __init__(
        self,
        reader: HistoryReader,
        analyzer: Analyzer,
        embedding: EmbeddingProgress | None = None,
    ) -> None:
        self._reader = reader
        self._analyzer = analyzer
        self._embedding = embedding

    async def list_messages(self, key: ChannelKey, query: ListQuery) -> Sequence[StoredMessage]:
        """A page of a channel."""
        check_key(key)
        _check_query(query)
        page = await self._reader.list_messages(key, query)
        if not page:
            await self._require_channel(key)
        return await self._answered(key, page)

    async def get_messages(
        self, key: ChannelKey, message_ids: Sequence[str]
    ) -> Mapping[str, StoredMessage]:
        """The messages that exist among these ids."""
        check_key(key)
        check_ids(message_ids, "message_ids")
        found = await self._reader.get_messages(key, message_ids)
        if not found:
            await self._require_channel(key)
        told = await self._answered(key, list(found.values()))
        return dict(zip(found, told, strict=True))

    async def get_message(self, key: ChannelKey, message_id: str) -> StoredMessage:
        """One message, recalled or not."""
        found = await self.find_message(key, message_id)
        if found is None:
            await self._require_channel(key)
            raise _no_message()
        return found

    async def find_message(self, key: ChannelKey, message_id: str) -> StoredMessage | None:
        """The same; None: there is none, or no such channel."""
        check_key(key)
        check_id(message_id, "message_id")
        found = await self._reader.get_messages(key, [message_id])
        told = await self._answered(key, list(found.values()))
        return told[0] if told else None

    async def reply_tree(
        self, key: ChannelKey, message_id: str, limit: int = 100
    ) -> Sequence[StoredMessage]:
        """Everything connected to a message by reply edges, in order of arrival."""
        check_key(key)
        check_id(message_id, "message_id")
        _check_limit(limit, MAX_PAGE)
        tree = await self._reader.reply_tree(key, message_id, limit)
        if not tree:
            await self._require_channel(key)
            raise _no_message()
        return await self._answered(key, tree)

    async def channels(
        self,
        tenant: str,
        after: str = "",
        limit: int = MAX_PAGE,
        name_contains: str = "",
        allowed: AllowedChannels | None = None,
    ) -> Sequence[ChannelInfo]:
        """Where the first allowed channels behind `after` stand, by name; those erased whole are not among them."""
        if allowed is None:
            return await self._channels_behind(tenant, after, limit, name_contains)
        found: list[ChannelInfo] = []
        for start in allowed.starts:
            if len(found) >= limit:
                break
            if start in allowed.prefixes:
                left = limit - len(found)
                found += await self._channels_beginning(tenant, start, after, left, name_contains)
            elif after < start and name_contains.casefold() in start.casefold():
                page = await self._reader.channel_infos(tenant, just_before(start), 1)
                found += [one for one in page if one.key.channel == start]
        return found

    async def _channels_beginning(
        self, tenant: str, prefix: str, after: str, limit: int, name_contains: str
    ) -> Sequence[ChannelInfo]:
        """The first channels behind `after` whose names begin so: they stand side by side."""
        found: list[ChannelInfo] = []
        behind = max(after, just_before(prefix))
        while len(found) < limit:
            wanted = min(limit - len(found), CHANNELS_PAGE)
            page = await self._reader.channel_infos(tenant, behind, wanted, name_contains)
            found += [one for one in page if one.key.channel.startswith(prefix)]
            if len(page) < wanted or page[-1].key.channel > prefix + "\U0010ffff":
                break
            behind = page[-1].key.channel
        return found

    async def _channels_behind(
        self, tenant: str, after: str, limit: int, name_contains: str
    ) -> Sequence[ChannelInfo]:
        found: list[ChannelInfo] = []
        while len(found) < limit:
            wanted = min(limit - len(found), CHANNELS_PAGE)
            page = await self._reader.channel_infos(tenant, after, wanted, name_contains)
            found += page
            if len(page) < wanted:
                break
            after = page[-1].key.channel
        return found

    async def channel_info(self, key: ChannelKey) -> ChannelInfo:
        """Where a channel stands, so that a bot that was down appends only what is missing."""
        check_key(key)
        info = await self._require_channel(key)
        if self._embedding is None:
            return info
        waiting = await self._embedding.count(key, info.last_seq)
        return replace(info, unembedded_count=waiting)

    async def has_channel(self, key: ChannelKey) -> bool:
        """Whether there is such a channel."""
        check_key(key)
        return await self._reader.channel_info(key) is not None

    async def wait_for_index(self, key: ChannelKey, timeout_s: float) -> Waited:
        """Wait until the semantic source finds everything stored before."""
        check_key(key)
        await self._require_channel(key)
        if self._embedding is None:
            return Waited(True, 0)
        return await self._embedding.wait(key, timeout_s)

    async def latest_of_user(
        self,
        tenant: str,
        user_id: str,
        channels: Sequence[str] = (),
        limit: int = 100,
        allowed: AllowedChannels | None = None,
    ) -> Sequence[StoredMessage]:
        """The newest messages of one author across the allowed channels, oldest first; none is no error."""
        check_id(user_id, "author_id")
        check_ids(channels, "channels")
        _check_limit(limit, MAX_PAGE)
        if allowed is not None:
            known = channels or await self._reader.channels_of_user(tenant, user_id)
            channels = allowed.among(known)
            if not channels:  # none named would be all
                return ()
        rows = await self._reader.latest_of_user(tenant, user_id, channels, limit)
        return await with_answered(self._reader, tenant, rows)

    async def members(self, key: ChannelKey) -> Sequence[Member]:
        """Everybody known in a channel."""
        check_key(key)
        members = await self._reader.members(key)
        if not members:
            await self._require_channel(key)
        return members

    async def pinned(self, key: ChannelKey) -> Sequence[StoredMessage]:
        """What is pinned in a channel, in the order in which it was pinned."""
        check_key(key)
        await self._require_channel(key)
        records = await self._reader.records(key, PIN, 0, limit=MAX_PINNED)
        found = await self._reader.get_messages(key, [record.id for record in records])
        rows = filter(None, (found.get(record.id) for record in records))
        live = [row for row in rows if row.state is not MessageState.RECALLED]
        return await self._answered(key, live)

    async def events(self, key: ChannelKey, query: EventQuery) -> Sequence[RecordedEvent]:
        """A page of what was recorded of a channel."""
        check_key(key)
        _check_limit(query.limit, MAX_PAGE + 1)  # one more tells whether there are more
        if query.context_id:
            check_id(query.context_id, "context_id")
        page = await self._reader.events(key, query)
        if not page:
            await self._require_channel(key)
        return page

    async def export(self, key: ChannelKey) -> AsyncIterator[StoredMessage]:
        """Every row of a channel, in order of arrival."""
        check_key(key)
        await self._require_channel(key)
        run: list[StoredMessage] = []
        async for stored in self._reader.export(key):
            run.append(stored)
            if len(run) == SEARCH_PAGE:
                for told in await self._answered(key, run):
                    yield told
                run = []
        for told in await self._answered(key, run):
            yield told

    async def search(self, key: ChannelKey, query: str, limit: int = 20) -> SearchHits:
        """Messages that hold all words of `query`, or `query` as it stands; a blank query finds none.

        Those stored last come first. Looks at the newest `SEARCH_ROWS` rows; `complete` says whether that was all.
        """
        check_key(key)
        _check_limit(limit, MAX_SEARCH_HITS)
        if len(query.encode("utf-8", "surrogatepass")) > MAX_QUERY_BYTES:
            raise InvalidRequest("query is too long", field="query", reason=Reason.TOO_LARGE)
        await self._require_channel(key)
        if not query.strip():
            return SearchHits((), 0, complete=True)
        matcher = _Matcher(query, self._analyzer)
        slices = LoopSlices()
        hits: list[StoredMessage] = []
        scanned = 0
        before_seq: int | None = None
        while scanned < SEARCH_ROWS:
            page = await self._reader.list_messages(
                key, ListQuery(limit=SEARCH_PAGE, newest_first=True, before_seq=before_seq)
            )
            for stored in page:
                await slices.spend(SEARCH_ROW_US + len(stored.analysis.text) / 500)
                scanned += 1
                if matcher.matches(stored):
                    hits.append(stored)
                    if len(hits) == limit:
                        return SearchHits(
                            tuple(await self._answered(key, hits)), scanned, complete=True
                        )
            if len(page) < SEARCH_PAGE:
                return SearchHits(tuple(await self._answered(key, hits)), scanned, complete=True)
            before_seq = page[-1].seq
        return SearchHits(tuple(await self._answered(key, hits)), scanned, complete=False)

    async def _answered(
        self, key: ChannelKey, rows: Sequence[StoredMessage]
    ) -> list[StoredMessage]:
        return await with_answered(self._reader, key.tenant, rows)

    async def _require_channel(self, key: ChannelKey) -> ChannelInfo:
        info = await self._reader.channel_info(key)
        if info is None:
            raise unknown_channel()
        return info


async def with_answered(
    reader: HistoryReader, tenant: str, rows: Sequence[StoredMessage]
) -> list[StoredMessage]:
    """The rows, of whatever channels; each edge names the author of its message, where that is stored.

    Else it names whom the sender said. Raises `StoreUnavailable`.
    """
    authors = {(row.message.channel, row.message.id): row.message.author.id for row in rows}
    wanted: dict[str, dict[str, None]] = {}
    for row in rows:
        reply, channel = row.analysis.reply, row.message.channel
        if reply is not None and (channel, reply.message_id) not in authors:
            wanted.setdefault(channel, {})[reply.message_id] = None
    for channel, ids in wanted.items():
        names, key = list(ids), ChannelKey(tenant, channel)
        for start in range(0, len(names), MAX_BATCH_ITEMS):
            found = await reader.get_messages(key, names[start : start + MAX_BATCH_ITEMS])
            authors |= {(channel, id_): one.message.author.id for id_, one in found.items()}

    def told(channel: str, reply: Reply | None) -> Reply | None:
        author = None if reply is None else authors.get((channel, reply.message_id))
        if reply is None or author is None or author == reply.user_id:
            return reply
        return replace(reply, user_id=author)

    out = []
    for row in rows:
        message, analysis = row.message, row.analysis
        named = told(message.channel, analysis.reply)
        if named is analysis.reply:
            out.append(row)
            continue
        sent = told(message.channel, message.reply)
        out.append(
            replace(
                row,
                message=replace(message, reply=sent),
                analysis=replace(analysis, reply=named),
            )
        )
    return out


class _Matcher:
    """Decides whether a row answers a query: all its keywords, or the query itself as part of the text."""

    def __init__(self, query: str, analyzer: Analyzer) -> None:
        self._keywords = frozenset(analyzer.analyze_text(query))
        self._raw = query.strip().casefold()

    def matches(self, stored: StoredMessage) -> bool:
        analysis = stored.analysis
        if self._keywords and self._keywords.issubset(analysis.keywords):
            return True
        return self._raw in analysis.text.casefold()


def _check_query(query: ListQuery) -> None:
    _check_limit(query.limit, MAX_PAGE)
    for name in ("author_id", "thread_id"):
        if getattr(query, name):
            check_id(getattr(query, name), name)
    for name in ("before_seq", "after_seq", "since_ms", "until_ms"):
        value = getattr(query, name)
        if value is not None and not -MAX_INT64 <= value <= MAX_INT64:
            raise InvalidRequest(f"{name} is out of range", field=name)


def _check_limit(limit: int, most: int) -> None:
    if not 1 <= limit <= most:
        raise InvalidRequest(f"limit must be 1 to {most}", field="limit")


def _no_message() -> NotFound:
    return NotFound(
        "no such message in this channel", field="message_id", reason=Reason.MESSAGE_NOT_FOUND
    )
