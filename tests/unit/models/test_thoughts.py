"""Thoughts in tags, however a stream is cut, and what is remembered of a model."""

from itertools import combinations, pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backscroll_sidecar.models.thoughts import MAX_HELD_CHARS, ThoughtFilter, ThoughtMemory

Way = dict[str, bool]
PLAIN: Way = {}
HELD: Way = {"holds": True}
DROPPED: Way = {"holds": True, "drops": True}


def read(pieces: list[str], way: Way = PLAIN, *, is_cut: bool = False) -> tuple[str, ThoughtFilter]:
    """The answer as it is stored."""
    thoughts, said = ThoughtFilter(**way), ""
    for piece in pieces:
        passed = thoughts.feed(piece)
        said = passed if thoughts.has_taken_back else said + passed
        thoughts.has_taken_back = False
    return said + thoughts.end(is_cut=is_cut), thoughts


def split(text: str, cuts: list[int]) -> list[str]:
    places = [0, *sorted({min(cut, len(text)) for cut in cuts}), len(text)]
    return [text[a:b] for a, b in pairwise(places)]


CASES = {
    "a block": ("<think>\nsecret\n</think>\n\nhi", "hi"),
    "blanks first": ("\n <think>secret</think>hi\n", "hi\n"),
    "thinking": ("<thinking>secret</thinking> hi", "hi"),
    "in capitals": ("<THINK>secret</Think>hi", "hi"),
    "Gemini's": ("<thought>secret</thought>hi", "hi"),
    "two blocks": ("<think>secret</think>\n<think>secret</think>hi", "hi"),
    "nothing thought": ("<think>\n\n</think>\n\nhi", "hi"),
    "a tag in a thought": ("<think>a <think> b < c</think>hi", "hi"),
    "a block in a block": ("<think>a<think>b</think>c</think>ok", "ok"),
    "blocks in a block": (
        "<think>a<thinking>b</thinking>c<think>d</think>e</think> <think>f</think>ok",
        "ok",
    ),
    "closed at once": ("</think>\n\nhi", "hi"),
    "closed alone": ("secret\n</think>\n\nhi", "hi"),
    "closed alone, blanks": ("secret\n  </think> \n\n\nhi\n</think>\nho", "hi\n</think>\nho"),
    "a mention": ("Put it in <think> and </think>\n, please", None),
    "a mention on a line": ("So:\n<think>\nx\n</think>\ny", None),
    "a mention of the end": ("It ends with `</think>`\nand on", None),
    "a mention at the end": ("It ends with\n</think>\n", None),
    "almost": ("<thin", None),
    "almost too": ("<thinker>hi", None),
    "less than": ("<3 you", None),
    "blanks alone": (" \n", None),
    "behind a block": (
        "<think>secret</think>use <think>x</think>\n</think>\nnow",
        "use <think>x</think>\n</think>\nnow",
    ),
    "never closed": ("<think>secret", ""),
}


@pytest.mark.parametrize("case", CASES)
def test_every_split_of_three(case: str) -> None:
    """No piece boundary changes what is the answer."""
    text, expected = CASES[case]
    for cuts in combinations(range(len(text) + 1), 2):
        assert read(split(text, list(cuts)))[0] == (text if expected is None else expected)
    assert read([*text])[0] == (text if expected is None else expected)


text_with_tags = st.lists(
    st.sampled_from(
        [
            "<think>",
            "</think>",
            "<thinking>",
            "</thinking>",
            "\n",
            " ",
            "a",
            "<",
            ">",
            "/",
            "`",
            "th",
            "</",
            "猫",
        ]
    ),
    max_size=14,
).map("".join)


@given(
    text_with_tags,
    st.lists(st.integers(0, 60), max_size=12),
    st.sampled_from([PLAIN, HELD, DROPPED]),
    st.booleans(),
)
@example("a\n</think>\n<think>b", [3], PLAIN, False)
def test_any_split_says_the_same(text: str, cuts: list[int], way: Way, is_cut: bool) -> None:
    whole, one = read([text], way, is_cut=is_cut)
    pieces, other = read(split(text, cuts), way, is_cut=is_cut)
    assert pieces == whole
    assert (one.opened, one.closed_alone) == (other.opened, other.closed_alone)
    assert text.endswith(whole)


@given(st.lists(st.text(st.characters(exclude_characters="<"), min_size=1, max_size=9), max_size=9))
def test_an_ordinary_answer_is_not_delayed(pieces: list[str]) -> None:
    """All that came has been passed on, but for blanks before the first word."""
    thoughts, said, came = ThoughtFilter(), "", ""
    for piece in pieces:
        came += piece
        said += thoughts.feed(piece)
        assert said == (came if came.strip() else "")
    assert said + thoughts.end(is_cut=False) == came


def test_an_answer_held_back_says_nothing_before_the_tag() -> None:
    thoughts = ThoughtFilter(holds=True)
    said = [thoughts.feed(piece) for piece in ("sec", "ret</th", "ink>", "\n", "h", "i")]
    assert said == ["", "", "", "", "h", "i"]
    assert thoughts.closed_alone


@pytest.mark.parametrize(
    ("way", "is_cut", "expected"),
    [
        (HELD, False, "an answer"),
        (HELD, True, "an answer"),
        (DROPPED, False, "an answer"),
        (DROPPED, True, ""),
    ],
)
def test_an_answer_held_back_to_its_end(way: Way, is_cut: bool, expected: str) -> None:
    """By a model that always thinks, what broke off was thoughts; else it is the answer."""
    said, thoughts = read(["an ", "answer"], way, is_cut=is_cut)
    assert said == expected
    assert thoughts.held_in_vain is not is_cut


def test_no_more_than_a_bound_is_held_back() -> None:
    thoughts, piece = ThoughtFilter(holds=True, drops=True), "x" * 1_000
    said = [thoughts.feed(piece) for _ in range(MAX_HELD_CHARS // 1_000 + 2)]
    assert "".join(said) == piece * len(said)
    assert not any(said[: MAX_HELD_CHARS // 1_000])


def test_blanks_without_end_are_passed_on() -> None:
    thoughts = ThoughtFilter()
    assert len("".join(thoughts.feed(" ") for _ in range(5_000))) > 3_000


def told(memory: ThoughtMemory, model: str, answer: str) -> str:
    """The answer's first delta but one, of pieces of two; what is known of the model afterwards is learnt from it."""
    thoughts = memory.filter_for(model)
    assert thoughts is not None
    first = thoughts.feed(answer[:-1])
    thoughts.feed(answer[-1:])
    thoughts.end(is_cut=False)
    memory.learn(model, thoughts, is_set_apart=False)
    return first


def test_a_model_is_held_back_once_it_has_closed_alone() -> None:
    memory, alone = ThoughtMemory("auto"), "secret\n</think>\n\nhi"
    assert told(memory, "m", "answer") == "answe"
    told(memory, "m", alone)
    assert told(memory, "other", "answer") == "answe"
    for _ in range(3):
        assert told(memory, "m", alone) == "h"
    assert [told(memory, "m", "answer") for _ in range(4)] == ["", "", "answe", "answe"]


def test_a_model_that_opens_its_blocks_is_held_back_once_at_most() -> None:
    memory = ThoughtMemory("auto")
    told(memory, "m", "<think>x</think>hi")
    assert told(memory, "m", "answer") == ""
    for _ in range(3):
        told(memory, "m", "<think>x</think>hi")
        assert told(memory, "m", "answer") == "answe"


@pytest.mark.parametrize(
    "name", ["deepseek-r1:8b", "QwQ-32B", "qwen3-30b-a3b-thinking-2507", "deepseek-ai/DeepSeek-R1"]
)
def test_a_name_says_that_a_model_thinks(name: str) -> None:
    memory = ThoughtMemory("auto")
    assert told(memory, name, "secret</think>hi") == "h"
    memory = ThoughtMemory("auto")
    assert [told(memory, name, "answer") for _ in range(2)] == ["", "answe"]


@pytest.mark.parametrize(
    "name",
    ["gpt-4o-mini", "qwen3-8b", "glm-4.5", "claude-sonnet", "mistral-large", "r10", "pixtral1"],
)
def test_ordinary_names_do_not(name: str) -> None:
    assert told(ThoughtMemory("auto"), name, "answer") == "answe"


def test_the_modes() -> None:
    assert ThoughtMemory("keep").filter_for("deepseek-r1") is None
    assert told(ThoughtMemory("hold"), "m", "secret</think>hi") == "h"
    assert [told(ThoughtMemory("hold"), "m", "answer") for _ in range(3)] == [""] * 3
