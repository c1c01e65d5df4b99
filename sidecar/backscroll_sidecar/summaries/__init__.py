"""Summaries of what a conversation holds before its newest part: where to cut, what to write, when."""
