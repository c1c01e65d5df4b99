"""`backscroll quality`: how well each profile picks, on chats with marked answers or on a chat of one's own."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import (
    CommandError,
    err,
    os_words,
    out,
    print_json,
    progress_bars,
    usage,
)
from backscroll_sidecar.cli.process import server_for
from backscroll_sidecar.config.types import PROFILE_NAMES

if TYPE_CHECKING:
    from backscroll_bench.quality import ChatSet, Own, Report

EPILOG = "Example: backscroll quality --own my-chat.jsonl --profile balanced"
PROFILES = ("balanced", "chain_recent", "classic")
INSTALL = 'in the source tree: pip install ".[bench]"'
CALL_TIMEOUT_S = 60.0
SHOWN_LINES = 10
SAME = "same"
"""Instead of another set's name: a set is mixed with itself."""


class BaselineChoice(StrEnum):
    """What a bot can do without Backscroll. Lists of a `Literal` are nothing that typer takes."""

    RECENCY = "recency"
    BM25 = "bm25"
    CHAIN = "chain"


_USUAL_BASELINES = (BaselineChoice.BM25,)


def quality(
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SET",
            help="irc, kdconv, madial_zh or madial_en, which come with Backscroll; or FOLDER/SET, for "
            "SET.messages.jsonl[.gz] and SET.queries.jsonl[.gz] there; or MESSAGES,QUERIES: two files. May be given "
            "several times. Default: those that come with Backscroll.",
        ),
    ] = None,
    own: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Chat log as import takes it; its replies are the questions.",
            dir_okay=False,
        ),
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Judge policies by an export of usage records instead: what people said, and what contexts cost.",
            dir_okay=False,
        ),
    ] = None,
    profile: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Profile to judge, one of {', '.join(PROFILE_NAMES)}. May be given several times. "
            f"Default: {', '.join(PROFILES)}; with --publish also hybrid.",
        ),
    ] = None,
    baseline: Annotated[
        list[BaselineChoice] | None,
        typer.Option(
            metavar="NAME",
            help="Baseline: recency, which is always judged; bm25; or chain, the replies alone. "
            "Default: the first two, with --publish all.",
        ),
    ] = None,
    explicit: Annotated[
        bool,
        typer.Option(
            "--explicit",
            help="Give the reply links that a reply button would have given; of an own chat those of the history.",
        ),
    ] = False,
    pause: Annotated[
        float | None,
        typer.Option(
            help="Ask this many seconds after the last line, by one of those who spoke last.", min=0
        ),
    ] = None,
    name_share: Annotated[
        float | None,
        typer.Option(
            help="Only this share of the messages that name somebody keep the name.", min=0, max=1
        ),
    ] = None,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Ask memory questions as a bot does, at the end of the talk that led to them, which stands in the "
            "channel. Default sets: those that tell it.",
        ),
    ] = False,
    live_shuffled: Annotated[
        bool,
        typer.Option(
            "--live-shuffled",
            help="As --live, with half the lines of each talk from other people's talks: the control.",
        ),
    ] = False,
    mix: Annotated[
        str | None,
        typer.Option(
            metavar="SET",
            help="Mix the channels of this set into those that are judged, fitted to their time. SET as for --data; or "
            "same: into each channel the next one of its own set.",
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="N|FIRST-LAST",
            help="Only the first N channels of a set; or from FIRST to LAST, counted from 0.",
        ),
    ] = None,
    every: Annotated[int, typer.Option(help="Only each n-th question.", min=1)] = 1,
    publish: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.md",
            help="Write the recall within 512, 1,024 and 2,048 tokens as a page, with licences, sizes, machine and "
            "versions, and all figures beside it as FILE.json. Sets with reply links are judged with and without them.",
            dir_okay=False,
        ),
    ] = None,
    markdown: options.Markdown = False,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="TOML file of the server's settings. Default: none.",
            dir_okay=False,
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Judge how well profiles pick: start a server, let it hear real chats, ask what people asked there.

    Reply questions are messages of the chat, asked at their place: are the messages they answer among the first 1, 5,
    10, how much of their conversation among 20. Memory questions come after the chat: how much of the evidence is
    among the first 5, 10, 20, or within 512, 1,024, 2,048 tokens. From history: the share of the questions that were
    looked up in the whole history. In parentheses: 95 % intervals. The last column: the tokens it takes to find as
    much as the newest 50 messages hold, as a share of theirs, and the number of messages that is.
    """
    if records is not None:
        if data or own:
            usage("--records is judged alone", "Leave out --data and --own.")
        _tell_records(records, as_json=as_json)
        return
    try:
        from backscroll_bench import quality as bench
    except ModuleNotFoundError as error:
        raise CommandError(f"this command needs {error.name}, which is missing", INSTALL) from None
    target = _page_file(publish) if publish else None
    profiles = _profiles(profile or (bench.PUBLISHED_PROFILES if target else PROFILES))
    if config is not None and not config.is_file():
        usage(f"{config}: there is no such file")
    baselines = [one.value for one in baseline or (BaselineChoice if target else _USUAL_BASELINES)]
    if live and live_shuffled:
        usage("--live and --live-shuffled are two variants: one at a time")
    talk = live or live_shuffled
    named = data or (() if own else bench.WITH_TALK if talk else bench.SHIPPED)
    try:
        links = (True,) if explicit else (False, True) if target else (False,)
        sets = _sets(named, own or (), links=links, groups=_slice(groups), every=every)
        sets = _mixed(sets, mix, explicit=explicit) if mix else sets
        sets = [bench.lived(one, shuffled=live_shuffled) for one in sets] if talk else sets
    except bench.DataError as error:
        usage(str(error))
    sets = [_changed(one, pause, name_share) for one in sets]
    with _judge(config, quiet=as_json) as judge:
        reports = []
        for chats in sets:
            report = judge(chats, profiles, baselines)
            reports.append(report)
            if not as_json:
                _show(report, markdown)
    if target:
        _publish(target, reports)
    if as_json:
        print_json({"sets": [report.as_json() for report in reports]})


def _page_file(path: Path) -> Path:
    """Where the page goes; refused before anything is judged."""
    if path.suffix != ".md":
        usage(
            f"--publish {path}: the page's name must end with .md",
            "for example --publish quality.md",
        )
    if not path.absolute().parent.is_dir():
        usage(f"--publish {path}: there is no such folder")
    return path


def _profiles(names: Sequence[str]) -> tuple[str, ...]:
    """Those to judge, each once."""
    for name in names:
        options.known_profile(name)
    return tuple(dict.fromkeys(names))


def _publish(target: Path, reports: Sequence[Report]) -> None:
    """Write the page and its data."""
    from backscroll_bench import quality as bench
    from backscroll_bench.speed import machine

    command = shlex.join(["backscroll", *sys.argv[1:]])
    found = bench.published(reports, command, machine.describe())
    data = target.with_suffix(".json")
    try:
        data.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
        target.write_text(bench.page(json.loads(data.read_text("utf-8"))), "utf-8")
    except OSError as error:
        raise CommandError(f"{os_words(error)}", "name another file with --publish") from None
    err().print(f"written: {escape(str(target))}, {escape(str(data))}")


def _tell_records(path: Path, *, as_json: bool) -> None:
    from backscroll_sidecar.cli.check_config import prepared_with_kernels

    prepared_with_kernels()
    from backscroll_sidecar.cli import record_quality
    from backscroll_sidecar.cli.exported_records import exported_records

    found = record_quality.quality_by_policy(exported_records(path))
    if as_json:
        print_json(record_quality.as_json(found))
    elif found:
        out().print(record_quality.as_table(found))
    else:
        err().print(f"{path} holds no record")


def _sets(
    data: Sequence[str], own: Sequence[Path], *, links: Sequence[bool], groups: slice, every: int
) -> list[ChatSet]:
    """Everything that is to be judged. `links`: without reply links, with them, or both where a set has any."""
    from backscroll_bench import quality as bench

    found: list[ChatSet] = []
    for path in own:
        mine = [bench.read_own(path, explicit=one, groups=groups, every=every) for one in links]
        _tell(path, mine[0])
        found += _different(each.chats for each in mine)
    with bench.shipped_sets() as shipped:
        for name in data:
            files = bench.find_set(shipped.get(name, name))
            found += _different(
                bench.read_set(*files, explicit=one, groups=groups, every=every) for one in links
            )
    return found


def _different(chats: Iterable[ChatSet]) -> list[ChatSet]:
    """A set without and with its links; once where it has none."""
    from backscroll_bench import quality as bench

    return list({one.note: one for one in map(bench.linked, chats)}.values())


def _mixed(sets: Sequence[ChatSet], name: str, *, explicit: bool) -> list[ChatSet]:
    """Each set with the channels of another one in its channels, or with its own."""
    from backscroll_bench import quality as bench

    other = None
    if name != SAME:
        (other,) = _sets((name,), (), links=(explicit,), groups=slice(None), every=1)
    return [
        bench.mixed(one, None if other is None or other.name == one.name else other) for one in sets
    ]


def _changed(chats: ChatSet, pause_s: float | None, name_share: float | None) -> ChatSet:
    """A set with its clock and its names changed."""
    from backscroll_bench import quality as bench

    if pause_s is not None:
        chats = bench.paused(chats, pause_s)
    if name_share is not None:
        chats = bench.fewer_names(chats, name_share)
    return chats


def _slice(groups: str | None) -> slice:
    """Which channels are kept."""
    if groups is None:
        return slice(None)
    found = re.fullmatch(r"(?:(\d{1,9})-)?(\d{1,9})", groups)
    first, last = (int(found[1] or 0), int(found[2])) if found else (1, 0)
    end = last + 1 if found and found[1] else last
    if end <= first:
        usage(f"--groups {groups}: a number from 1 on, or FIRST-LAST, counted from 0, such as 8-11")
    return slice(first, end)


def _tell(path: Path, mine: Own) -> None:
    """What of an own chat is not judged."""
    console = err()
    for file, number, why in mine.bad_lines[:SHOWN_LINES]:
        console.print(f"[yellow]{escape(file)}:{number}:[/] {escape(why)}")
    if mine.bad_lines or mine.without_text:
        console.print(
            f"{escape(str(path))}: left out are bad lines: {len(mine.bad_lines)}, "
            f"messages without text: {mine.without_text}"
        )


@contextmanager
def _judge(
    config: Path | None, *, quiet: bool
) -> Iterator[Callable[[ChatSet, Sequence[str], Sequence[str]], Report]]:
    """A server of our own over a new database, and what judges a set with it; settings: `config`'s, or none."""
    from backscroll_bench import quality as bench

    named = ("--config", str(config.absolute())) if config else ()
    with (
        server_for("quality", "--durability", "normal", *named) as (running, _),
        connected(options.Target(running.address), timeout_s=CALL_TIMEOUT_S) as client,
    ):
        count = 0

        def judge(chats: ChatSet, profiles: Sequence[str], baselines: Sequence[str]) -> Report:
            nonlocal count
            count += 1
            live = bench.LiveServer(client, f"quality-{count}")
            with progress_bars(quiet=quiet) as bar:
                task = bar.add_task(escape(chats.name), total=len(chats.questions))
                found = bench.judge(
                    chats, live, profiles, baselines, progress=lambda done: bar.advance(task, done)
                )
            return bench.summarise(chats, found)

        try:
            yield judge
        except bench.Misjudged as error:
            raise CommandError(str(error), "the figures would mean nothing") from None


def _show(report: Report, markdown: bool) -> None:
    from backscroll_bench.quality import tables

    if markdown:
        print(tables.markdown(report), flush=True)
    else:
        out().print(tables.terminal(report), "")
