"""The Backscroll server: from a stored chat to the few messages that matter for the next reply."""
