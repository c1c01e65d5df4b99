"""The tables of docs/guide/scaling.md are what the simulator says of what was measured."""

from pathlib import Path

from backscroll_bench.scaling.tables import tables

ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- python -m backscroll_bench.scaling -->\n", "<!-- end -->"


def test_the_tables_are_those_of_the_command():
    page = (ROOT / "docs/guide/scaling.md").read_text("utf-8")
    shown = page.partition(BEGIN)[2].partition(END)[0]
    assert shown.strip() == tables().strip(), (
        "write what `python -m backscroll_bench.scaling` prints between the marks"
    )
