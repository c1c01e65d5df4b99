"""Reads files twice: first for names and for what is wrong, then for the messages. Holds no messages."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from backscroll.v1 import history_pb2, message_pb2
from backscroll_sidecar.domain import MAX_PINNED
from backscroll_sidecar.importers.items import (
    Bad,
    Members,
    NotUnderstood,
    Options,
    Pins,
    Place,
    Read,
    Retracted,
    Skipped,
)
from backscroll_sidecar.importers.looks import Format
from backscroll_sidecar.importers.native import Native
from backscroll_sidecar.importers.recognise import files_of
from backscroll_sidecar.importers.sources import Source
from backscroll_sidecar.importers.whatsapp import phone_digits

KEPT_BAD = 1_000
NO_CHANNEL = "no channel or group_id (or give --channel)"


@dataclass(slots=True)
class Survey:
    """What the first reading found: names, what is left out, and what is wrong where.

    Attributes
    ----------
    files : list of (source, format)
        What is read, in order.
    bad : list of (file, place, why)
        The first `KEPT_BAD` of them; `bad_count` counts all.
    untimed_count : int
        Messages that say no time.
    """

    files: list[tuple[Source, Format]] = field(default_factory=list)
    message_count: int = 0
    untimed_count: int = 0
    bad: list[tuple[str, Place, str]] = field(default_factory=list)
    bad_count: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)
    channels: Counter[str] = field(default_factory=Counter)
    people: dict[str, dict[str, str | None]] = field(default_factory=dict)
    recalled: set[tuple[str, str]] = field(default_factory=set)
    member_count: int = 0
    pinned: dict[str, list[str]] = field(default_factory=dict)
    unresolved_mentions: Counter[str] = field(default_factory=Counter)

    def learn(self, channel: str, user_id: str, name: str) -> None:
        """Remember whose name this is. A name that two people had stands for nobody."""
        names = self.people.setdefault(channel, {})
        for word in {name, user_id, phone_digits(name)} - {""}:
            known = names.setdefault(word, user_id)
            if known != user_id:
                names[word] = None

    def resolve(self, channel: str, name: str) -> str | None:
        """The user a name stands for in this channel."""
        return self.people.get(channel, {}).get(name.removeprefix("@")) or None

    def complain(self, file: str, bad: Bad) -> None:
        """Count something that cannot be read, and keep the first of them."""
        self.bad_count += 1
        if len(self.bad) < KEPT_BAD:
            self.bad.append((file, bad.place, bad.why))


def survey(sources: list[Source], options: Options, format_name: str = "") -> Survey:
    """Read everything once.

    Raises
    ------
    NotUnderstood
        A file is no chat log that we read, or lacks what its format needs.
    Unreadable
        A file breaks off.
    """
    found = Survey()
    for given in sources:
        found.files += files_of(given, format_name, options)
    for source, form in found.files:
        if source.guessed_encoding and form.name != "history-table":
            options.note(
                f"{source.name} is not in UTF-8: read as {source.guessed_encoding} (--encoding)"
            )
        for item in form.read(source, options):
            match item:
                case Bad():
                    found.complain(source.name, item)
                case Skipped():
                    found.skipped[item.kind] += 1
                case Retracted():
                    found.recalled.add((_channel(item.channel, options), item.message_id))
                case Read():
                    _take(found, source, form, item, options)
                case Members() | Pins():
                    _take_more(found, source, item, options)
    return found


def messages(
    found: Survey, options: Options
) -> Iterator[message_pb2.Message | history_pb2.ImportMessagesRequest]:
    """Read everything again: the messages, names turned into ids, and people, in a request for each.

    What is bad or was taken back is passed over.
    """
    for source, form in found.files:
        for item in form.read(source, options):
            if isinstance(item, Members) and (channel := _channel(item.channel, options)):
                yield history_pb2.ImportMessagesRequest(
                    channel=channel, members=item.members, members_at_ms=item.at_ms or None
                )
            if not isinstance(item, Read):
                continue
            message = item.message
            message.channel = _channel(message.channel, options)
            if not message.channel or (message.channel, message.id) in found.recalled:
                continue
            _name(message, found)
            yield message


def _take(found: Survey, source: Source, form: Format, item: Read, options: Options) -> None:
    message = item.message
    channel = _channel(message.channel, options)
    if not channel:
        if isinstance(form, Native):
            found.complain(source.name, Bad(item.place, NO_CHANNEL))
            return
        raise NotUnderstood(
            f"{source.name} is {form.label}, which names no channel: give --channel"
        )
    found.message_count += 1
    found.untimed_count += not message.sent_at_ms
    found.channels[channel] += 1
    found.unread.update(item.unread)
    found.learn(channel, message.author.id, message.author.name)


def _take_more(found: Survey, source: Source, item: Members | Pins, options: Options) -> None:
    channel = _channel(item.channel, options)
    if not channel:
        found.complain(source.name, Bad(item.place, NO_CHANNEL))
    elif isinstance(item, Pins):
        pinned = found.pinned.setdefault(channel, [])
        pinned += [one for one in item.message_ids if one not in pinned][:MAX_PINNED]
    else:
        found.member_count += len(item.members)
        found.unread.update(item.unread)


def _channel(named: str, options: Options) -> str:
    channel = options.channel or named
    return options.channel_prefix + channel if channel else ""


def _name(message: message_pb2.Message, found: Survey) -> None:
    """Turn mentions by name into mentions of people; where the text says the name once, tell where."""
    if all(one.user_id for one in message.mentions):
        return
    text = message.parts[0].text.text if len(message.parts) == 1 else ""
    kept: list[message_pb2.Mention] = []
    for one in message.mentions:
        user_id = one.user_id or found.resolve(message.channel, one.name)
        if not user_id:
            found.unresolved_mentions[one.name] += 1
            continue
        if not (one.user_id or one.end) and text.count(f"@{one.name}") == 1:
            one.start = text.index(f"@{one.name}")
            one.end = one.start + len(one.name) + 1
        one.user_id = user_id
        kept.append(one)
    del message.mentions[:]
    message.mentions.extend(kept)
