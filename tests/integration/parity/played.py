"""The whole course: what is recorded, what is asked meanwhile, and what is asked of servers started anew."""

from collections import Counter
from itertools import islice
from pathlib import Path

from tests.integration.parity.asked import builds, lists, looks
from tests.integration.parity.both import both
from tests.integration.parity.recorded import NOW_MS, said, steps
from tests.kit.chats import StillClock
from tests.kit.postgres import server

SHORT_EVERY = 7


async def played(folder: Path, *, build_count: int, is_short: bool = False) -> Counter[str]:
    """How many calls there were, by method; fails where an answer of one differed from the other's.

    Half of the builds are answered from what was told while it was recorded, half from what was loaded of the stores.
    `is_short`: over a quarter of the lines, with few of the lists and looks.
    """
    clock, postgres = StillClock(NOW_MS), server().new_database()
    chats, every = said(is_short=is_short), SHORT_EVERY if is_short else 1
    calls: Counter[str] = Counter()
    requests = builds(chats, build_count)
    for is_anew in (False, True):
        async with both(folder / "history.db", postgres, clock) as servers:
            if not is_anew:
                for first, *more in steps(chats):
                    await servers.ask(first, *more)
            for one in islice(lists(chats), 0, None, every):
                await servers.pages(one)
            for one in islice(looks(chats), 0, None, every):
                await servers.ask(one)
            for one in islice(requests, (build_count + 1) // 2):
                await servers.ask(one)
            servers.check()
            calls += servers.calls
    return calls
