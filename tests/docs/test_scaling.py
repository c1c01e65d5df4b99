"""The tables of docs/guide/scaling.md are what the simulator says of what was measured."""

from pathlib import Path

from backscroll_bench.scaling.costs import costs
from backscroll_bench.scaling.simulator import simulated
from backscroll_bench.scaling.tables import PLANS, tables

ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- python -m backscroll_bench.scaling -->\n", "<!-- end -->"


def test_the_tables_are_those_of_the_command():
    page = (ROOT / "docs/guide/scaling.md").read_text("utf-8")
    shown = page.partition(BEGIN)[2].partition(END)[0]
    assert shown.strip() == tables().strip(), (
        "write what `python -m backscroll_bench.scaling` prints between the marks"
    )


def test_what_the_page_says_beside_them_holds():
    carried = {
        (plan.store, plan.servers): simulated(plan, costs(plan.store)).messages_per_second
        for plan in PLANS
        if plan.affinity
    }
    assert carried["postgres", 1] < carried["sqlite", 1]
    assert carried["postgres", 3] >= 2.2 * carried["postgres", 1]
