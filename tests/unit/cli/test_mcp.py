"""`backscroll mcp` without its packages, and what its texts promise in both languages."""

import builtins
import string
import sys
from dataclasses import fields

import backscroll_sidecar.cli.mcp
from backscroll_sidecar.cli import main
from backscroll_sidecar.cli.mcp.words import CHINESE, ENGLISH, words_for
from backscroll_sidecar.cli.render import FATES


def test_a_missing_package_is_named_with_the_extra(monkeypatch, capsys):
    real = builtins.__import__

    def without(name, *more, **others):
        if name.partition(".")[0] in {"mcp", "mcp_types"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *more, **others)

    monkeypatch.delitem(sys.modules, "backscroll_sidecar.cli.mcp.protocol", raising=False)
    monkeypatch.delattr(backscroll_sidecar.cli.mcp, "protocol", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    assert main(["mcp", "--channel", "cats"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "this command needs mcp" in said.err
    assert 'pip install ".[mcp]"' in said.err


def test_both_languages_fill_in_the_same():
    for one in fields(ENGLISH):
        pair = [getattr(words, one.name) for words in (ENGLISH, CHINESE)]
        if isinstance(pair[0], str):
            names = [
                {name for _, name, _, _ in string.Formatter().parse(text) if name} for text in pair
            ]
            assert names[0] == names[1], one.name
        else:
            assert pair[0].keys() == pair[1].keys(), one.name
    assert ENGLISH.fates.keys() == set(FATES.values()) - {"unspecified"}


def test_words_follow_the_text_or_the_operator():
    assert words_for("auto", "谁来喂猫?") is CHINESE
    assert words_for("auto", "who feeds the cat?") is ENGLISH
    assert words_for("zh", "who?") is CHINESE
    assert words_for("en", "谁") is ENGLISH
