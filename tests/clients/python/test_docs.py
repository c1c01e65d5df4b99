"""What the documentation shows is run (EXAMPLES 15), against the fake server."""

import ast
import asyncio
import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import backscroll
import backscroll.adapters
from backscroll import AsyncClient, AsyncRoom, Client, Message, Room
from backscroll.v1 import context_pb2 as pb

README = Path(__file__).parents[3] / "clients/python/README.md"
CHATS = Path(__file__).parents[3] / "docs/guide/chats-and-tools.md"
MODULES = [
    importlib.import_module(f"{package.__name__}.{module.name}")
    for package in (backscroll, backscroll.adapters)
    for module in pkgutil.iter_modules(package.__path__)
    if module.name not in {"v1", "_cli_entry", "langchain"}  # the last wants LangChain
]


def examples():
    """Every docstring with examples, once: the clients' methods share theirs with `_calls`."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = [test for module in (backscroll, *MODULES) for test in finder.find(module)]
    return {test.docstring: test for test in tests if test.examples}.values()


@pytest.mark.parametrize("test", list(examples()), ids=lambda test: test.name)
def test_examples_of_docstrings(fake, test):
    if "append(" not in test.docstring:
        hello = Message("m1", "ann", "we meet at six", 1795132800000)
        fake.append("room", hello.to_proto())
    with Client(fake.address) as client:
        test.globs |= vars(backscroll) | {
            "client": client,
            "address": fake.address,
            "asyncio": asyncio,
        }
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE, verbose=False)
        said = []
        runner.run(test, out=said.append, clear_globs=False)
    assert not runner.failures, "".join(said)


@pytest.mark.parametrize("kind", [Client, AsyncClient, Room, AsyncRoom])
def test_every_method_has_an_example(kind):
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_") and name != "close":
            assert "Examples\n" in method.__doc__, name


def test_every_public_name_has_words():
    for name in backscroll.__all__:
        assert getattr(backscroll, name).__doc__, name


def test_readme_blocks_run(fake, tmp_path, monkeypatch):
    """One block after the other, as a reader would type them; `Client()` finds the fake server."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    assert len(blocks) >= 4
    scope = {}
    for number, block in enumerate(blocks):
        source = block.replace("Client()", f"Client({fake.address!r})")
        code = compile(
            source, f"README block {number}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        )
        if inspect.iscoroutine(waiting := eval(code, scope)):
            asyncio.run(waiting)
    scope["client"].close()
    assert [seen.rpc for seen in fake.seen].count("AppendMessages") == 4


def test_readme_names_every_error_and_method():
    text = README.read_text("utf-8")
    errors = [name for name, each in vars(backscroll).items() if inspect.isclass(each)]
    for name in errors:
        if issubclass(getattr(backscroll, name), backscroll.BackscrollError):
            assert f"`{name}`" in text, name
    for kind in (Client, Room):
        for name, _ in inspect.getmembers(kind, inspect.isfunction):
            assert name.startswith("_") or name in text, name


def test_the_loop_of_the_guide_shows_half_an_answer_as_half(fake, capsys):
    """Law 8: ends without an event of their own, errors, and a server that goes away are all seen."""
    [streaming] = re.findall(r"```python\n(.*?)```", CHATS.read_text("utf-8"), re.DOTALL)
    streaming = streaming.replace("127.0.0.1:7171", fake.address)
    half, event = pb.StreamChatResponse(delta="half"), pb.StreamChatResponse

    def shown(*events, breaks_after=0):
        fake.chat_events, fake.breaks_after = [half, *events], breaks_after
        space = {}
        exec(streaming, space)
        space["chat"].close()
        return capsys.readouterr().out.strip()

    broke_off = "half … [the answer broke off]"
    assert shown(event(end=pb.ChatEnd(reason=pb.END_REASON_DEADLINE))) == broke_off
    assert shown(event(end=pb.ChatEnd(reason=pb.END_REASON_INCOMPLETE))) == broke_off
    failed = event(end=pb.ChatEnd(reason=pb.END_REASON_UPSTREAM_ERROR))
    assert shown(event(error=pb.ChatError(message="sorry")), failed) == "half [sorry]"
    assert shown(event(end=pb.ChatEnd(reason=pb.END_REASON_COMPLETE))) == "half"
    assert shown(breaks_after=2).startswith("half … [")
