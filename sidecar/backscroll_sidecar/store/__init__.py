"""History kept for good: one port (`HistoryStore`), two implementations that agree by construction.

`decide` says what a group of changes does, without any I/O; `sqlite` and `memory` fetch what it needs to know and
write down what it says. Nothing outside imports more of this package than `opening`.
"""
