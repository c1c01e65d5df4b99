"""Everything that is done with sessions, put together."""

from __future__ import annotations

from dataclasses import dataclass

from backscroll_sidecar.chat.service import ChatService
from backscroll_sidecar.concurrency.locks import Locks
from backscroll_sidecar.context.builder import ContextBuilder
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.history.writer import Writer
from backscroll_sidecar.ports import ChatModel, Clock, HistoryReader
from backscroll_sidecar.rooms.exports import SessionExports
from backscroll_sidecar.rooms.moves import Moves
from backscroll_sidecar.rooms.participation import Participation
from backscroll_sidecar.rooms.preparing import Preparing
from backscroll_sidecar.rooms.rounds import RoundService
from backscroll_sidecar.rooms.service import SessionService
from backscroll_sidecar.rooms.spaces import SpaceService
from backscroll_sidecar.sessions.directory import SessionDirectory
from backscroll_sidecar.sessions.modes.registry import Modes
from backscroll_sidecar.summaries.service import Summaries


@dataclass(frozen=True, slots=True)
class Rooms:
    """What is done with sessions."""

    spaces: SpaceService
    sessions: SessionService
    participation: Participation
    rounds: RoundService
    moves: Moves
    exports: SessionExports

    @classmethod
    def over(
        cls,
        reader: HistoryReader,
        writer: Writer,
        history: HistoryService,
        directory: SessionDirectory,
        modes: Modes,
        clock: Clock,
        builder: ContextBuilder,
        chat: ChatService,
        model: ChatModel,
        summaries: Summaries,
        locks: Locks,
    ) -> Rooms:
        """Put them together."""
        spaces = SpaceService(reader, writer, directory, modes, clock)
        sessions = SessionService(reader, writer, history, directory, modes, clock, locks)
        preparing = Preparing(reader, builder, modes, clock)
        rounds = RoundService(
            sessions, preparing, reader, history, chat, model, summaries, clock, locks
        )
        moves = Moves(sessions, preparing, reader, history, builder, clock)
        return cls(
            spaces,
            sessions,
            Participation(sessions, reader, clock),
            rounds,
            moves,
            SessionExports(sessions, reader, history),
        )
