"""5,000 requests of every kind are answered as they were when they were recorded, byte for byte."""

import asyncio
import json

import pytest

from tests.golden.answers.recorded import DIGESTS, WHOLE, answers, digest, whole

SHOWN, CONTEXT_CHARS = 3, 300


@pytest.mark.row("S1-01")
def test_recorded_requests_are_answered_as_ever():
    """Same store, configuration and request: same items and bytes, whatever is asked for."""
    known = DIGESTS.read_text().split()
    lines = {json.loads(line)["number"]: line for line in WHOLE.read_text().splitlines()}

    async def differing() -> tuple[int, list[tuple[str, str]]]:
        wrong, number = [], 0
        async for request, answer in answers():
            if digest(answer) != known[number]:
                wrong.append((whole(number, request, answer), lines.get(number, "not kept whole")))
            number += 1
        return number, wrong

    count, wrong = asyncio.run(differing())
    wrong.sort(key=lambda pair: pair[1] == "not kept whole")
    assert count == len(known)
    if wrong:  # an answer has thousands of characters: those that differ are shown
        said = "\n".join(_difference(*pair) for pair in wrong[:SHOWN])
        pytest.fail(f"{len(wrong)} of {count} differ, such as\n{said}", pytrace=False)


def _difference(now: str, before: str) -> str:
    pairs = enumerate(zip(now, before, strict=False))
    same = next((at for at, (one, other) in pairs if one != other), min(len(now), len(before)))
    shown = slice(max(0, same - CONTEXT_CHARS), same + CONTEXT_CHARS)
    return f"{now[:CONTEXT_CHARS]}\n  now:    {now[shown]}\n  before: {before[shown]}"
