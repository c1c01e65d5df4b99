"""History kept for good: one port (`HistoryStore`), two implementations that agree by construction.

`decide` says what a group of changes does, without any I/O; `sqlite` and `memory` fetch what it needs to know and
write down what it says. Nothing outside `wiring` imports this package, but for `doctor`, which looks at a database's
file with `sqlite/examine.py`.
"""
