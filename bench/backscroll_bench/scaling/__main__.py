"""`python -m backscroll_bench.scaling`: what servers carry and what a load needs, by what was measured."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, fields

from backscroll_bench.scaling.costs import STORES, costs, measured
from backscroll_bench.scaling.simulator import Plan, simulated
from backscroll_bench.scaling.tables import tables


def main() -> None:
    """Print the tables of the guide; with any option what one plan of your own carries, as JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m backscroll_bench.scaling",
        description="What servers carry, simulated from what was measured. Without options: the tables of the guide.",
        epilog="Example: python -m backscroll_bench.scaling --servers 5 --channels 100000 --builds-a-message 1",
    )
    parser.add_argument(
        "--measured",
        metavar="FILE",
        type=argparse.FileType("r"),
        help="of bench/measure_scaling.py",
    )
    for one in fields(Plan):
        flag = f"--{one.name.replace('_', '-')}"
        said = f"default: {one.default}"
        if isinstance(one.default, bool):
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, help=said)
        else:
            choices = STORES if one.name == "store" else None
            parser.add_argument(flag, type=type(one.default), choices=choices, help=said)
    given = {name: value for name, value in vars(parser.parse_args()).items() if value is not None}
    file = json.load(given.pop("measured")) if "measured" in given else measured()
    if not given:
        print(tables(file), end="")
        return
    plan = Plan(**given)
    if plan.store == "sqlite" and plan.servers > 1:
        parser.error("a file of SQLite has one server")
    outcome = simulated(plan, costs(plan.store, file))
    print(json.dumps({"plan": asdict(plan), "outcome": asdict(outcome)}, indent=2))


main()
