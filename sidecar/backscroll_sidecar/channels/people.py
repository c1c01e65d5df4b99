"""The people of a channel in memory: user indices, present and former names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from backscroll_sidecar.domain import Author, Member, Stay
from backscroll_sidecar.known_names import looked_up_by, the_one
from backscroll_sidecar.scripts import HAN, UNSPACED

_NAME_PART = re.compile(r"[^\W_]+")
_UNSPACED_START = re.compile(rf"[{HAN}{UNSPACED}]")


class NameParts(dict[str, set[int]]):
    """The users by whole case-folded name and by each word of it.

    Attributes
    ----------
    lengths : first character to lengths, longest first
        Of the parts that begin in a script without spaces. There a name may stand anywhere in a run: this says where
        it is worth a look, so that a text without names costs one look-up a character.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lengths: dict[str, tuple[int, ...]] = {}

    def note(self, part: str, user: int) -> None:
        """Enter a user under a part, case-folded and not empty."""
        if part in self:
            self[part].add(user)
        else:
            self[part] = {user}
        if not part.isascii() and _UNSPACED_START.match(part):
            lengths = self.lengths.get(part[0], ())
            if len(part) not in lengths:
                self.lengths[part[0]] = tuple(sorted((*lengths, len(part)), reverse=True))

    def clear(self) -> None:
        """Forget all."""
        super().clear()
        self.lengths.clear()


class People:
    """Users of one channel by index. Grows only; owned by the event loop, read by builds between awaits.

    A name that several go by, or went by, is that of the only one who goes by it now; else it resolves to nobody.

    `by_name_part` holds the users by whole case-folded name and by each word of it, of two characters or more: for
    ranking, where several may be meant, never for identity.

    Attributes
    ----------
    renamed : how often a user got a first or another name.
    members : those who are or were members, or wrote something; others are only named in messages.
    stays : when they were members, where it is known.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.names: list[str] = []
        self.index: dict[str, int] = {}
        self.stays: dict[int, tuple[Stay, ...]] = {}
        self.members: set[int] = set()
        self.renamed = 0
        self.longest_name_chars = 0
        self._holders: dict[str, tuple[str, ...]] = {}
        self.by_name_part = NameParts()
        self._member_names: dict[int, tuple[str, ...]] = {}

    def intern(self, user_id: str) -> int:
        """The index of a user, given out on first sight."""
        index = self.index.get(user_id)
        if index is None:
            index = self.index[user_id] = len(self.ids)
            self.ids.append(user_id)
            self.names.append("")
        return index

    def note_author(self, author: Author) -> int:
        """Learn an author and one of the names the author goes or went by.

        It does not rename anybody: a message may come late or be an old one that changed. Who is renamed comes as a
        member.
        """
        return self.note_author_as(author.id, author.name)

    def note_author_as(self, user_id: str, name: str) -> int:
        """The same of an author given by id and name."""
        index = self.intern(user_id)
        self.members.add(index)
        if name and self.names[index] != name:
            self._rename(index, self.names[index] or name)
            self._note_name(name, index)
        return index

    def note_members(self, members: Iterable[Member]) -> None:
        """Learn names, former names, aliases and stays. Some 1 µs a member: a load waits for all of them."""
        known, current, names_of = self.index, self.names, self._member_names
        all_stays, note = self.stays, self.members.add
        taken_away = False
        for member in members:
            user_id, name = member.user_id, member.name
            index = known.get(user_id)
            if index is None:
                index = self.intern(user_id)
            if name and current[index] != name:
                self._rename(index, name)
            names = (name,) if name else ()
            if member.former_names or member.aliases:
                names = (*names, *filter(None, member.former_names + member.aliases))
            before = names_of.get(index)
            if before != names:
                names_of[index] = names
                if before and not set(before).issubset(names):
                    taken_away = True
                else:
                    for one in names:
                        self._note_name(one, index)
            note(index)
            if all_stays or member.joined_at_ms is not None or member.left_at_ms is not None:
                if stays := member.stays:
                    all_stays[index] = stays
                else:
                    all_stays.pop(index, None)
        if taken_away:
            self._forget_names()

    def user_for_name(self, name: str) -> str | None:
        """The one user who goes by this name, case-folded, or went by it; None when nobody or several do."""
        folded = name.casefold()
        return the_one(self._holders.get(folded, ()), folded, self._name_now)

    def is_known_as(self, name: str, user_id: str) -> bool:
        """Whether nobody but this user goes by the name now, whatever case it is in."""
        folded = looked_up_by(name)
        return not any(
            one != user_id and self._name_now(one) == folded
            for one in self._holders.get(folded, ())
        )

    def _name_now(self, user_id: str) -> str:
        return looked_up_by(self.names[self.index[user_id]])

    def last_message_id(self, user_id: str) -> str | None:
        """None: the roster asks for it, and a question needs no inferred edge."""
        del user_id
        return None

    def _rename(self, index: int, name: str) -> None:
        if self.names[index] != name:
            self.names[index] = name
            self.renamed += 1

    def _forget_names(self) -> None:
        """Forget names that no member has, after an alias was removed."""
        self._holders.clear()
        self.by_name_part.clear()
        self.longest_name_chars = 0
        for index, names in self._member_names.items():
            for name in names:
                self._note_name(name, index)

    def _note_name(self, name: str, index: int) -> None:
        folded = name.casefold()
        is_word = folded.isalnum()
        if not is_word:
            folded = looked_up_by(name)
            if not folded:
                return
        user_id, known = self.ids[index], self._holders.get(folded)
        if known is None:
            self._holders[folded] = (user_id,)
        elif user_id not in known:
            self._holders[folded] = (*known, user_id)
        self.longest_name_chars = max(self.longest_name_chars, len(folded))
        if is_word:
            self._note_part(folded, index)
            return
        for part in {folded, *_NAME_PART.findall(folded)}:
            self._note_part(part, index)

    def _note_part(self, part: str, index: int) -> None:
        if len(part) > 1:
            self.by_name_part.note(part, index)
