"""One channel of a server, as the operator fixed it: who asks, by which profile, and what its errors mean."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from urllib.parse import quote

from backscroll import AsyncClient, Context
from backscroll.errors import BackscrollError, DeadlineExceeded, PermissionDenied
from backscroll.v1 import message_pb2
from backscroll_sidecar.cli.connect import explained
from backscroll_sidecar.cli.mcp.chat_text import Style, for_everybody
from backscroll_sidecar.cli.mcp.words import LanguageName, words_for
from backscroll_sidecar.cli.options import Target
from backscroll_sidecar.lines.line_safety import escape_name


class Refused(Exception):
    """A call that cannot be answered. The text says why, and what to do about it."""


@dataclass(frozen=True, slots=True)
class Chat:
    """One channel of a server, as the operator fixed it.

    Attributes
    ----------
    asker : user id in whose name questions are asked; empty: in nobody's.
    profile : that builds pick with; None: the channel's.
    """

    client: AsyncClient
    target: Target
    channel: str
    asker: str = ""
    profile: str | None = None
    language: LanguageName = "auto"
    zone: tzinfo = UTC
    time_zone: str = ""

    @property
    def base_uri(self) -> str:
        """What the addresses of this channel's resources begin with."""
        return f"backscroll://channel/{quote(self.channel, safe='')}/"

    def style(self, text: str = "") -> Style:
        """How to write an answer to this text, or about this channel."""
        return Style(words_for(self.language, text or self.channel), self.zone)

    async def build(
        self, question: str, token_budget: int, trigger: str, *, explain: bool
    ) -> Context:
        """The build of a question, with no copies of the texts beyond those that are read."""
        return await self.client.build_context(
            self.channel,
            question,
            asker=self.asker or None,
            trigger_message_id=trigger or None,
            profile=self.profile,
            layout="context_and_question",
            speaker_style="tagged",
            time_zone=self.time_zone,
            token_budget=token_budget,
            payload_formats="none",
            language="" if self.language == "auto" else self.language,
            explain=explain,
            omit="messages" if explain else ("messages", "item_messages"),
        )

    async def texts(self, ids: Sequence[str]) -> dict[str, message_pb2.Message]:
        """What stored messages of the channel say, those that are for everybody."""
        if not ids:
            return {}
        rows = [one async for one in self.client.list_messages(self.channel, message_ids=ids)]
        return {one.message.id: one.message for one in for_everybody(rows)}

    async def answered(self, answer: Awaitable[str]) -> str:
        """An answer, or `Refused` with what can be done about the server's error."""
        try:
            return await answer
        except BackscrollError as error:
            raise Refused(self._advice(error)) from None

    def _advice(self, error: BackscrollError) -> str:
        """What a model, or who runs it, can do about an error of the server's."""
        if error.reason == "BUDGET_TOO_SMALL":
            return (
                f"{error}; give token_budget at least {error.metadata.get('least_tokens', 'more')}"
            )
        if error.reason == "CHANNEL_NOT_FOUND":
            return f"no message is stored in the channel {escape_name(self.channel)} yet"
        if error.reason == "MESSAGE_NOT_FOUND":
            return f"{error}; take an id from the brackets that search_messages returns"
        if isinstance(error, PermissionDenied):
            right = error.metadata.get("right", "")
            needs = f"; the key of this server needs the right {right!r}" if right else ""
            return f"{error}{needs}. Its operator can give it another one"
        if isinstance(error, DeadlineExceeded):
            return f"{error}; try again, or with a smaller token_budget"
        told = explained(error, self.target)
        return f"{told.message}; {told.advice}" if told.advice else told.message
