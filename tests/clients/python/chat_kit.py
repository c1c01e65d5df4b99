"""What the tests of chats share: a question, tools, and what was said."""

from backscroll import Delta

QUESTION = "when do we meet?"


def lookup(day: str) -> str:
    """Look up when we meet."""
    return f"on {day} at six"


def results_of(fake, at=1, rpc="StreamChat"):
    return [(one.text, one.is_error) for one in fake.requests(rpc)[at].tool_results]


def text(events):
    return "".join(event.text for event in events if isinstance(event, Delta))
