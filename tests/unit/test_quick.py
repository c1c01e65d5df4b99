"""Values with a quick constructor are like any other frozen dataclass (backscroll_sidecar.values)."""

import copy
import inspect
import pickle
from dataclasses import dataclass, field, replace

import pytest

from backscroll_sidecar.domain import Author, AuthorKind
from backscroll_sidecar.values import quick


@dataclass(frozen=True, slots=True)
class Plain:
    """The twin with the constructor that dataclasses make."""

    name: str
    kind: int = 3
    tags: tuple[str, ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class Quick:
    """The same, made quickly."""

    name: str
    kind: int = 3
    tags: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("args", "named"),
    [(("a",), {}), (("a", 4), {"tags": ("x",)}), ((), {"tags": ("y",), "name": "b"})],
)
def test_a_quick_value_is_the_plain_one(args, named):
    made, plain = Quick(*args, **named), Plain(*args, **named)
    assert type(made) is Quick
    assert repr(made) == repr(plain).replace("Plain", "Quick")
    assert made == Quick(*args, **named)
    assert hash(made) == hash(Quick(*args, **named))
    assert made == pickle.loads(pickle.dumps(made)) == copy.copy(made)
    changed = replace(made, kind=9)
    assert (changed.name, changed.kind, changed.tags) == (plain.name, 9, plain.tags)
    with pytest.raises(AttributeError):
        made.kind = 5  # type: ignore[misc]


@pytest.mark.parametrize("named", [{}, {"kind": 1}, {"name": "a", "other": 1}])
def test_it_refuses_what_the_plain_one_refuses(named):
    with pytest.raises(TypeError):
        Plain(**named)
    with pytest.raises(TypeError):
        Quick(**named)


def test_it_says_what_it_takes():
    assert list(inspect.signature(Author).parameters) == ["id", "name", "kind"]
    assert Author("a").kind is AuthorKind.HUMAN


def test_a_default_made_anew_is_made_for_every_value():
    """Unless a caller gives it: never made once and shared."""

    @quick
    @dataclass(frozen=True, slots=True)
    class Listed:
        items: list[int] = field(default_factory=list)

    first, second, given = Listed(), Listed(), [1]
    assert first.items == second.items == []
    assert first.items is not second.items
    assert Listed(given).items is given
    assert Listed(items=[]).items == []
