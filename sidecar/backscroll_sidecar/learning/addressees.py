"""Whom the lines behind a reply are for: by reply edges, mentions, and names. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from backscroll_sidecar.analyze.reply_cues import MAX_CHARS, NOBODY, NamesLately, names_called
from backscroll_sidecar.learning.turn import ChatLine, Turn

_SHORTEST_NAME = 2


class Addressees:
    """The people of a turn, and the messages that belong to it. Grows with `note`."""

    def __init__(self, turn: Turn, following: Sequence[ChatLine]) -> None:
        self._bot, self._asker_id = turn.reply.author, turn.question.author.id
        self._bot_name = _mentioning(self._bot.name or self._bot.id)
        self._shown_ids = turn.shown_ids
        self._author_of: dict[str, str] = {}
        self._older_of_bot = {
            one.message_id for one in turn.earlier if one.author.id == self._bot.id
        }
        self.note(turn.question)
        self.note(turn.reply)
        lines = (*turn.earlier, turn.question, turn.reply, *following)
        people = (*turn.people, *[one.author for one in lines])
        self._users = list(dict.fromkeys(one.id for one in people))
        self._places = {user: place for place, user in enumerate(self._users)}
        names: dict[str, int] = {}
        for one in people:
            name, place = (one.name or one.id).casefold(), self._places[one.id]
            names[name] = place if names.get(name, place) == place else NOBODY
        self._names = NamesLately(
            {name: place for name, place in names.items() if name and place != NOBODY}
        )
        self._texts = [one.text for one in lines]

    def note(self, line: ChatLine) -> None:
        """A line belongs to the turn from here on."""
        self._author_of[line.message_id] = line.author.id

    def whom(self, line: ChatLine) -> str | None:
        """The id of the user a line is for; None: it does not tell. Of several the bot or the asker."""
        author = self._author_of.get(line.reply_to_id)
        if author is not None and author != line.author.id:
            return author
        for first in (self._bot.id, self._asker_id):
            if first in line.mention_ids and first != line.author.id:
                return first
        if line.mention_ids:
            return line.mention_ids[0]
        called = self.called_in(line)
        if called is None and line.author.id == self._asker_id and self.names_bot(line.text):
            return self._bot.id
        return called

    def called_in(self, line: ChatLine) -> str | None:
        """The id of the user called by the first word of a line, if any."""
        author = self._places[line.author.id]
        user, _ = names_called(line.text, self._names, author, self._texts)
        if user == NOBODY:
            first = line.text[:MAX_CHARS].split(maxsplit=1)[:1]
            user = self._names.users.get(first[0].casefold(), NOBODY) if first else NOBODY
        return None if user in {NOBODY, author} else self._users[user]

    def is_left_out(self, message_id: str) -> bool:
        """Whether a message is neither of the turn nor was shown in its context."""
        return (
            bool(message_id)
            and message_id not in self._author_of
            and message_id not in self._shown_ids
        )

    def is_of_older_talk(self, line: ChatLine, whom: str | None) -> bool:
        """Whether a line replies to a message from before the turn, and not to bring it to the bot."""
        if not line.reply_to_id or line.reply_to_id in self._author_of:
            return False
        return whom != self._bot.id or line.reply_to_id in self._older_of_bot

    def names_bot(self, text: str) -> bool:
        """Whether the bot's name stands in a text."""
        return self._bot_name.search(text[:MAX_CHARS]) is not None

    def names_others_than_bot(self, said: str) -> bool:
        """Whether a name of somebody besides the bot and the asker stands in a text in lower case."""
        return any(
            len(name) >= _SHORTEST_NAME
            and name in said
            and _mentioning(name).search(said) is not None
            and self._users[place] not in {self._bot.id, self._asker_id}
            for name, place in self._names.users.items()
        )


@lru_cache(maxsize=256)
def _mentioning(name: str) -> re.Pattern[str]:
    """Matches a name; one of ASCII letters must not stand inside another word."""
    return re.compile(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", re.IGNORECASE)
