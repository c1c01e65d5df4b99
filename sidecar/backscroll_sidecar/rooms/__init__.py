"""Rooms: what is done with sessions. Keeping them, rounds of answers, moves, exports."""
