"""Words by which English clauses are told apart. Pure."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NO_VALUE = _words(
    "a all an another answer answers any anybody anyone anything approach are as bad be because being better "
    "bit both can choice did do does each either even every everybody everyone everything fact feeling good "
    "having he her here hers him his how idea ideas if is it it's its joke jokes just knowing latest less "
    "like likes little look looks lot lots many me mine more most much my myself neat neither new no nobody "
    "none not nothing old one ones only option options other others our ours part people plan plans point "
    "question questions really same seeing she so some somebody someone something sound sounds stuff such "
    "suggestion suggestions than that the their theirs them there these they thing things this those to too u "
    "ur us version very was way ways we were what when where who whom whose why will you your yours yourself"
)
"""No thing that is liked begins or ends with one."""
STOPS_VALUE = _words(
    "about\ufffc answer are be because can did do does enough has have he her here him his how i i'm idea "
    "ideas if is it me my one ones plan point question right she so suggestion than that their them there "
    "they thing things this today tomorrow tonight too until us was way we were when which who will yesterday "
    "yet you your"
)
"""None that is liked has one in it."""
NO_NAME = _words(
    "a after again an anything anytime as asap at back before biased blind boring bro by cheap cold confused "
    "conservative crazy curious cynical daddy dense done dude dumb early evil first fool for from here "
    "horrible idiot if ignorant impressed in insane it late later lazy liar mad maybe mean n00b naive name "
    "names never new newb newbie noob noobish not now nuts ocd off old old-fashioned old-school oldfashioned "
    "on out paranoid pedantic picky please right sceptical selfish sensitive sick silly sir skeptical slow so "
    "sometime soon strange stupid surprised that the there thick this today tomorrow tonight too traditional "
    "up weird what whatever when while wrong"
)
"""Behind "call me" these are no name."""
NO_PLACE = _words(
    "a an another arch bed breezy chaos chrome college console constant dapper darkness debian denial dreams "
    "edgy emacs fear fedora "
    "feisty firefox gentoo gnome gutsy hardy heaven hell her here his home hope intrepid it jaunty karmic kde kubuntu "
    "limbo linux lucid luxury mac me mint misery my nano new office one opensuse other our peace poverty python "
    "room root same school sin "
    "slackware squalor suse terminal that the their there this town two ubuntu unity us vi vim vista what which "
    "windows work x xfce xp xubuntu you your"
)
"""These are no place to live in."""
JOBS = _words(
    "accountant actor actress admin administrator analyst architect artist attorney barista bartender "
    "biologist carpenter chef chemist consultant cook dentist designer developer doctor driver economist "
    "editor electrician engineer farmer firefighter journalist lawyer librarian manager mathematician "
    "mechanic musician nurse painter paramedic pharmacist photographer physicist pilot plumber producer "
    "professor programmer psychologist researcher salesman salesperson scientist singer soldier student "
    "sysadmin teacher tester therapist translator tutor vet veterinarian waiter waitress writer"
)
MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
