"""The public names for own stages: the three protocols of the profile `naive` and their values.

A provider says which messages are the history, a compressor makes that fewer or shorter, an assembler makes messages
for a model of it. ``docs/guide/own-stages.md`` shows one of each.
"""

from backscroll_sidecar.context.compress import Compressed, Compressor, Limits, SimpleCompressor
from backscroll_sidecar.context.layouts import (
    Assembled,
    Assembler,
    Parts,
    Section,
    StandardAssembler,
)
from backscroll_sidecar.context.selected_lines import Line, Lines
from backscroll_sidecar.domain import Category, Fate, Layout, NeutralMessage, Role
from backscroll_sidecar.strategies import Empty, Messages, StrategyQuery
from backscroll_sidecar.strategies import Strategy as Provider

__all__ = [
    "Assembled",
    "Assembler",
    "Category",
    "Compressed",
    "Compressor",
    "Empty",
    "Fate",
    "Layout",
    "Limits",
    "Line",
    "Lines",
    "Messages",
    "NeutralMessage",
    "Parts",
    "Provider",
    "Role",
    "Section",
    "SimpleCompressor",
    "StandardAssembler",
    "StrategyQuery",
]
