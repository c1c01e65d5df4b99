"""How much a crash may take of what was acknowledged."""

from typing import Literal

Durability = Literal["full", "normal"]
"""``full``: nothing. ``normal``: a power cut may take the last commits, a crash of the program nothing."""
