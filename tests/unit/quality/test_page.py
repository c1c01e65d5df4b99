"""The published page: its figures are the data's, and the committed one is what the committed data gives."""

import json
import re
from pathlib import Path

import pytest

from backscroll_bench import quality as bench
from backscroll_bench.quality.about import About, read_about
from backscroll_bench.quality.metrics import TOKEN_CUTS

REFERENCE = Path(__file__).parents[3] / "docs/reference"
SAMPLES = Path(bench.__file__).parent / "samples"


def test_the_committed_page_is_what_the_committed_run_gave():
    """Recall within 512, 1,024 and 2,048 tokens, sizes, licence, machine, versions, command and date.

    Beside it the newest messages, BM25, the chain alone, and the weighted formula.
    """
    found = json.loads((REFERENCE / "quality.json").read_text("utf-8"))
    page = (REFERENCE / "quality.md").read_text("utf-8")
    assert bench.page(found) == page
    assert {one["data"] for one in found["sets"]} == set(bench.SHIPPED)
    for one in found["sets"]:
        assert {"recency", "bm25", "chain", "balanced", "classic"} <= {
            each["selector"] for each in one["results"]
        }
        assert one["about"]["role"] == "development"
        assert one["about"]["licence"] in page
        for each in one["results"]:
            for limit in TOKEN_CUTS:
                assert (
                    f"{each['figures'][f'recall@{limit}tok']['value']:.3f}".removeprefix("0")
                    in page
                )
    for named in (found["command"], found["machine"]["cpu"], found["machine"]["measured_on"]):
        assert named in page
    assert found["command"] == "backscroll quality --publish docs/reference/quality.md"


@pytest.mark.parametrize("name", bench.SHIPPED)
def test_the_licence_that_is_published_is_that_of_the_samples(name):
    about = read_about(SAMPLES / f"{name}.messages.jsonl.gz")
    rows = re.findall(
        r"^\| `(\w+)` \|.*\| ([^|]+) \|$", (SAMPLES / "README.md").read_text("utf-8"), re.MULTILINE
    )
    assert about.licence == dict(rows)[name]


def test_a_set_says_whether_it_was_looked_at(tmp_path):
    messages = tmp_path / "mine.messages.jsonl"
    assert read_about(messages) == About()
    told = tmp_path / "mine.about.toml"
    told.write_text('role = "held-out"\nlicence = "none"\n')
    assert read_about(messages) == About(licence="none", role="held-out")
    for wrong, says in (
        ('role = "test"', "role: is one of development, held-out"), ("size = 1", "size: is no text of"),
        ("what = 1", "what: is no text of"), ("role", "cannot be read"),
    ):  # fmt: skip
        told.write_text(wrong)
        with pytest.raises(bench.DataError, match=says):
            read_about(messages)
