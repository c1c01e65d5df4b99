"""What protobuf says of JSON that does not fit, in the contract's words."""

from __future__ import annotations

import re


def protobuf_words(error: Exception) -> str:
    """Protobuf's complaint about JSON, with the fields spelt as the contract spells them."""
    words = re.sub(
        r'Message type "[\w.]*?(\w+)" has no field named', r"\1 has no field", str(error)
    )
    words, _, fields = words.partition("Available Fields")
    words = re.sub(r"\s+", " ", words).strip(" .")
    names = (
        re.sub(r"[A-Z]", lambda one: "_" + one[0].lower(), name)
        for name in re.findall(r"'(\w+)'", fields)
    )
    listed = ", ".join(names)
    return f"{words}; it has {listed}" if listed else words
