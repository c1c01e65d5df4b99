"""Who is called what: how messages and explicit updates change a member. Pure.

What changes nothing returns the very person it was given.
"""

from __future__ import annotations

from dataclasses import replace

from backscroll_sidecar.domain import MAX_STAYS, Author, Member, Stay
from backscroll_sidecar.known_names import with_name_seen
from backscroll_sidecar.store.facts import Person


def seen_writing(person: Person | None, author: Author, at_ms: int) -> Person:
    """The person after a message of theirs, sent at `at_ms`, showed this author.

    A message newer than the name we have renames; an older one (an import of what was before) only adds a former name.
    """
    if person is None:
        times = ((at_ms, author.name),) if author.name else ()
        return Person(Member(author.id, author.name, kind=author.kind, name_times=times), at_ms)
    member, named_at_ms = person.member, person.named_at_ms
    if at_ms >= named_at_ms and author.name == member.name and author.kind is member.kind:
        # Nearly every message: the name is as it was, and known to be so a little later.
        return person if at_ms == named_at_ms or not author.name else Person(member, at_ms)
    if at_ms < named_at_ms:
        member = _with_older_name(_seen_as(person, author.name, at_ms), author.name)
    else:
        if author.kind != member.kind:
            member = replace(member, kind=author.kind)
        if author.name:
            member = renamed(_seen_as(Person(member, named_at_ms), author.name, at_ms), author.name)
            named_at_ms = at_ms
    if member is person.member and named_at_ms == person.named_at_ms:
        return person
    return Person(member, named_at_ms)


def upserted(person: Person | None, given: Member, at_ms: int) -> Person:
    """The person after an explicit update: aliases, kind and leaving as given, an empty name, joining or role keeps."""
    if person is None:
        former = tuple(dict.fromkeys(name for name in given.former_names if name != given.name))
        member = replace(_staying(given, (), given), former_names=former)
        return Person(_seen_as(Person(member, at_ms), given.name, at_ms), at_ms)
    known = person.member
    member = _seen_as(person, given.name, at_ms)
    if at_ms < person.named_at_ms:
        member, named_at_ms = _with_older_name(member, given.name), person.named_at_ms
    else:
        member, named_at_ms = renamed(member, given.name), at_ms
    for name in given.former_names:
        member = _with_older_name(member, name)
    member = replace(
        member,
        aliases=given.aliases,
        kind=given.kind,
        role=given.role or known.role,
    )
    after = Person(_staying(member, known.stays, given), named_at_ms)
    is_same = after == person and after.member.name_times == known.name_times
    return person if is_same else after


def added(person: Person | None, given: Member, at_ms: int) -> Person:
    """The person after an export told of them as of `at_ms`: what is known stays, a name seen later, too."""
    if person is None:
        return upserted(None, given, at_ms)
    known = person.member
    names = (given.name, *given.former_names)
    if not {*known.former_names} <= {*names}:
        names = (*known.former_names, *names)
    after = upserted(
        person,
        replace(
            given,
            aliases=tuple(dict.fromkeys((*known.aliases, *given.aliases))),
            kind=given.kind if at_ms >= person.named_at_ms else known.kind,
            role=known.role or given.role,
            earlier_stays=(known if known.stays else given).earlier_stays,
            joined_at_ms=(known if known.stays else given).joined_at_ms,
            left_at_ms=(known if known.stays else given).left_at_ms,
            has_all_stays=True,
            former_names=(),
        ),
        at_ms,
    )
    member = after.member
    names = (*names, *member.former_names)
    listed = tuple(dict.fromkeys(name for name in names if name not in ("", member.name)))
    if listed == member.former_names:
        return after
    return Person(replace(member, former_names=listed), after.named_at_ms)


def _staying(member: Member, known: tuple[Stay, ...], given: Member) -> Member:
    """The member with the stays known before and those that were given."""
    told = given.joined_at_ms, given.left_at_ms
    stays = given.stays if given.has_all_stays else stays_after(known, *told)
    last = stays[-1] if stays else Stay()
    return replace(
        member,
        joined_at_ms=last.joined_at_ms,
        left_at_ms=last.left_at_ms,
        earlier_stays=stays[:-1],
        has_all_stays=False,
    )


def renamed(member: Member, name: str) -> Member:
    """The member under this name; the name before becomes the newest of the former ones."""
    if name in ("", member.name):
        return member
    former = [member.name] if member.name else []
    former += [old for old in member.former_names if old not in (name, member.name)]
    return replace(member, name=name, former_names=tuple(former))


def _seen_as(person: Person, name: str, at_ms: int) -> Member:
    """The member, of whom it is known now that they had this name then."""
    member, named_at_ms = person
    if not name:
        return member
    times = member.name_times or (((named_at_ms, member.name),) if member.name else ())
    seen = with_name_seen(times, at_ms, name, named_at_ms)
    return member if seen == member.name_times else replace(member, name_times=seen)


def _with_older_name(member: Member, name: str) -> Member:
    if not member.name:
        return renamed(member, name)
    if not name or name == member.name or name in member.former_names:
        return member
    return replace(member, former_names=(*member.former_names, name))


# --- when somebody was a member --------------------------------------------------------------------

Stays = tuple[Stay, ...]
"""In order of time, without overlaps; only the first may have no beginning, only the last no end."""


def stays_after(known: Stays, joined_at_ms: int | None, left_at_ms: int | None) -> Stays:
    """The stays once a joining, a leaving, or both are told; no leaving: still there.

    Safe to tell again, and in any order as far as the times say which stay is meant. Of more than `MAX_STAYS` the
    oldest go.
    """
    if joined_at_ms is not None and left_at_ms is not None and left_at_ms <= joined_at_ms:
        return stays_after(stays_after(known, None, left_at_ms), joined_at_ms, None)  # back again
    if not known:
        told = (joined_at_ms, left_at_ms) != (None, None)
        return (Stay(joined_at_ms, left_at_ms),) if told else ()
    if joined_at_ms is None:
        return _left(known, left_at_ms)
    return _joined(known, joined_at_ms, left_at_ms)[-MAX_STAYS:]


def _left(known: Stays, left_at_ms: int | None) -> Stays:
    """The last stay that began before then ended then; it goes on where nobody left."""
    at = len(known) - 1
    while left_at_ms is not None and at > 0 and _begin(known[at]) >= left_at_ms:
        at -= 1
    return _replaced(known, at, Stay(known[at].joined_at_ms, left_at_ms))


def _joined(known: Stays, joined_at_ms: int, left_at_ms: int | None) -> Stays:
    last = known[-1]
    for at, one in enumerate(known[:-1]):
        if one.joined_at_ms == joined_at_ms:  # told again
            return (
                known
                if left_at_ms is None
                else _replaced(known, at, Stay(joined_at_ms, left_at_ms))
            )
    told = Stay(joined_at_ms, left_at_ms)
    if last.left_at_ms is not None and last.left_at_ms <= joined_at_ms:
        return (*known, told)
    if left_at_ms is not None and joined_at_ms < left_at_ms <= _begin(last):
        before = [one for one in known if _begin(one) < joined_at_ms]
        return _in_order((*before, told, *known[len(before) :]))
    return _replaced(known, len(known) - 1, told)


def _replaced(known: Stays, at: int, stay: Stay) -> Stays:
    return _in_order((*known[:at], stay, *known[at + 1 :]))


def _in_order(stays: Stays) -> Stays:
    """Stays that overlap the ones before are one with them: what was told last may have moved a bound."""
    out: list[Stay] = []
    for one in stays:
        before = out[-1] if out else None
        if before is None or (before.left_at_ms is not None and before.left_at_ms <= _begin(one)):
            out.append(one)
        else:
            out[-1] = Stay(before.joined_at_ms, one.left_at_ms)
    return tuple(out)


def _begin(stay: Stay) -> int:
    return -1 if stay.joined_at_ms is None else stay.joined_at_ms
