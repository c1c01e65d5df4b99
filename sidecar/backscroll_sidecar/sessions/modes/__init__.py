"""Modes: the rules a session is played by. Each is data and pure functions; `base` says what one must have."""
