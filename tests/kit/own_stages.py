"""An operator's own stages of the profile `naive`: such as note when they are asked, and such as break."""

import asyncio
import time
from typing import ClassVar

from backscroll_sidecar.pipeline import (
    Assembled,
    Category,
    Compressed,
    Messages,
    NeutralMessage,
    Role,
    Section,
    SimpleCompressor,
    StandardAssembler,
)

LOG: list[str] = []
"""Which stage was asked, in order. A test empties it."""


class Providing:
    """The last messages, noted."""

    name = "noted"

    def gather(self, query):
        LOG.append("provider")
        return Messages(Category.RECENT, range(max(0, query.end - query.recent_limit), query.end))


class Compressing:
    """What is built in, noted."""

    def compress(self, lines, limits):
        LOG.append("compressor")
        return SimpleCompressor().compress(lines, limits)


class NoBlah:
    """Nothing that begins with "blah"."""

    def compress(self, lines, limits):
        return Compressed([one for one in lines if one.said.text[:4] != "blah"], len(lines))


class Assembling:
    """What is built in, noted."""

    def assemble(self, parts, layout, *, include_system):
        LOG.append("assembler")
        return StandardAssembler().assemble(parts, layout, include_system=include_system)


class FailingProvider:
    """Cannot reach what it asks."""

    name = "failing"

    async def gather(self, query):
        raise OSError("connection refused")


class ExitingProvider:
    """Many libraries' entry points end the program."""

    name = "exiting"

    def gather(self, query):
        raise SystemExit(2)


class LaterExitingProvider:
    """The same behind something that it waits for."""

    name = "laterexiting"

    async def gather(self, query):
        await asyncio.sleep(0)
        raise SystemExit(2)


class CancelledProvider:
    """Waits for something that was called off."""

    name = "cancelled"

    async def gather(self, query):
        gone = asyncio.get_running_loop().create_future()
        gone.cancel()
        await gone


class OddCategoryProvider:
    """Says what nobody knows."""

    name = "oddcategory"

    def gather(self, query):
        return Messages("recent", range(query.end))


class SleepingProvider:
    """Holds everybody up."""

    name = "sleeping"

    def gather(self, query):
        time.sleep(0.1)
        return Messages(Category.RECENT, range(query.end))


class HangingProvider:
    """Waits for ever."""

    name = "hanging"

    async def gather(self, query):
        await asyncio.Event().wait()


class NonsenseProvider:
    """Gives what is no result."""

    name = "nonsense"

    def gather(self, query):
        return [1, 2, 3]


class _Sound:
    """Breaks only where there is something to do: a start does not find that out."""

    sound: ClassVar = SimpleCompressor()

    def compress(self, lines, limits):
        return self.broken(lines) if lines else self.sound.compress(lines, limits)


def _raise(error):
    raise error


def _slowly(made):
    time.sleep(3)
    return made


def _compressor(broken):
    """Does this to the lines where there are any."""
    return type("Compressor", (_Sound,), {"broken": lambda self, lines: broken(lines)})


RaisingCompressor = _compressor(lambda lines: _raise(ValueError("no")))
ExitingCompressor = _compressor(lambda lines: _raise(SystemExit(2)))
ListCompressor = _compressor(list)
TwiceCompressor = _compressor(lambda lines: Compressed([*lines, lines[0]], len(lines)))
BackwardsCompressor = _compressor(lambda lines: Compressed(list(reversed(lines)), len(lines)))
FatelessCompressor = _compressor(
    lambda lines: Compressed([], len(lines), {line.place: "gone" for line in lines})
)
HalfCompressor = _compressor(
    lambda lines: Compressed([line.with_text("\ud800") for line in lines], len(lines))
)
SlowCompressor = _compressor(lambda lines: _slowly(Compressed(lines, len(lines))))
GreedyCompressor = _compressor(lambda lines: Compressed(lines, 0))
"""Keeps to no limit: the budget holds all the same."""


class Rewriting:
    """Writes every line anew: what is in `TEXTS` under its message's id, else what it was."""

    TEXTS: ClassVar[dict[str, str]] = {}

    def compress(self, lines, limits):
        made = [one.with_text(self.TEXTS.get(one.said.message_id, one.said.text)) for one in lines]
        return Compressed(made, len(lines))


class _SoundAssembler:
    def assemble(self, parts, layout, *, include_system):
        if parts.lines:
            return self.broken(parts)
        return StandardAssembler().assemble(parts, layout, include_system=include_system)


def _assembler(broken):
    return type("Assembler", (_SoundAssembler,), {"broken": lambda self, parts: broken()})


def _one(message, *sections):
    return _assembler(lambda: Assembled((message,), (message,), "", sections))


HI = NeutralMessage(Role.USER, "hi")
RaisingAssembler = _assembler(lambda: _raise(ValueError("no")))
ExitingAssembler = _assembler(lambda: _raise(SystemExit(2)))
SlowAssembler = _assembler(lambda: _slowly(Assembled((HI,), (HI,), "", ())))
EmptyAssembler = _assembler(lambda: Assembled((), (), "", ()))
TextAssembler = _one("hi")
OddSectionAssembler = _one(HI, Section("epilogue", "hi"))
HalfAssembler = _one(NeutralMessage(Role.USER, "half \ud800"))
NumberAssembler = _one(NeutralMessage(Role.USER, 7))
OddRoleAssembler = _one(NeutralMessage("wizard", "hi"))
OddIdAssembler = _one(NeutralMessage(Role.USER, "hi", message_ids=(7,)))
BareToolAssembler = _one(NeutralMessage(Role.TOOL, "42"))
BlankAssembler = _one(NeutralMessage(Role.USER, " \u200b"))


class NoBlahAssembler:
    """Cannot put anything together that begins with "blah"."""

    def assemble(self, parts, layout, *, include_system):
        LOG.append("assembler")
        assert not any(one.said.text.startswith("blah") for one in parts.lines)
        return StandardAssembler().assemble(parts, layout, include_system=include_system)


class TersePart:
    """Tells of sections and leaves them out: what is counted stays what is sent."""

    def assemble(self, parts, layout, *, include_system):
        made = StandardAssembler().assemble(parts, layout, include_system=include_system)
        one = (NeutralMessage(Role.USER, "hm"),)
        return Assembled(one, one, "", made.sections)
