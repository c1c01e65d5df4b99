"""What the profiles are without and with settings."""

from pathlib import Path

import pytest

from backscroll_sidecar.config.derived import context_settings
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.config.sources import load
from backscroll_sidecar.config.types import PROFILE_NAMES
from backscroll_sidecar.context.profiles import PROFILES


def profiles_with(monkeypatch, **environment):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    loaded = load()
    assert not [problem for problem in loaded.problems if problem.kind != "no effect"]
    return context_settings(loaded.settings).profiles


def test_presets_are_those_of_the_designs():
    """S0-01: where the designs' defaults disagree each is a preset, and one model name wins."""
    settings = context_settings(load().settings)
    profiles = settings.profiles
    retrieval, naive = profiles["retrieval"], profiles["naive"]
    assert (retrieval.recent_limit, retrieval.semantic_limit, retrieval.token_budget) == (
        10,
        5,
        4096,
    )
    assert (naive.recent_limit, naive.max_messages, naive.max_chars_per_message) == (12, 12, 4000)
    assert profiles["room"].max_context == profiles["room"].recent_limit == 20
    classic = profiles["classic"]
    assert (classic.max_context, classic.window_hours, classic.threshold) == (20, 24, 0.3)
    assert classic.parameters is not None
    assert classic.parameters.weights == (0.4, 0.15, 0.2, 0.15, 0.1)
    assert classic.recent_floor == 0
    assert settings.default_model == "gpt-4o-mini"
    assert settings.default_profile == "balanced"


def test_unset_settings_change_no_profile():
    """S0-01: the settings' own defaults and the profiles' say the same."""
    assert dict(context_settings(load().settings).profiles) == dict(PROFILES)


def test_settings_know_the_profiles_without_importing_numba():
    assert tuple(PROFILES) == PROFILE_NAMES


@pytest.mark.parametrize(
    ("variable", "value", "read"),
    [
        ("MEMORY_TIME_WINDOW_HOURS", "7", lambda p: p.window_hours == 7),
        ("MEMORY_RELEVANCE_THRESHOLD", "0.55", lambda p: p.threshold == 0.55),
        ("MEMORY_REPLY_CHAIN_WEIGHT", "0.9", lambda p: p.parameters.weights[0] == 0.9),
        ("MEMORY_USER_CONTINUITY_WEIGHT", "0.9", lambda p: p.parameters.weights[1] == 0.9),
        ("MEMORY_TIME_DECAY_WEIGHT", "0.9", lambda p: p.parameters.weights[2] == 0.9),
        ("MEMORY_MENTION_RELATION_WEIGHT", "0.9", lambda p: p.parameters.weights[3] == 0.9),
        ("MEMORY_KEYWORD_OVERLAP_WEIGHT", "0.9", lambda p: p.parameters.weights[4] == 0.9),
    ],
)
def test_each_memory_variable_alone_changes_classic_and_nothing_else(
    monkeypatch, variable, value, read
):
    """S5-27: the window, the threshold and the five weights define `classic`."""
    profiles = profiles_with(monkeypatch, **{variable: value})
    assert read(profiles["classic"])
    assert {name for name in profiles if profiles[name] != PROFILES[name]} == {"classic"}


@pytest.mark.parametrize(
    ("variable", "value", "field", "wanted"),
    [
        ("MEMORY_MAX_CONTEXT_MESSAGES", "7", "max_context", 7),
        ("MEMORY_ENABLE_INTELLIGENT_MEMORY", "false", "intelligent", False),
        ("MEMORY_FALLBACK_ON_ERROR", "false", "fallback_on_error", False),
        ("MEMORY_CONTEXT_BUILD_TIMEOUT_SECONDS", "2", "timeout_s", 2.0),
    ],
)
def test_switches_maximum_and_timeout_apply_to_every_profile(
    monkeypatch, variable, value, field, wanted
):
    """S5-26, S5-27: these four are settings of every build."""
    plain = context_settings(load().settings)
    assert getattr(plain, field) != wanted
    monkeypatch.setenv(variable, value)
    assert getattr(context_settings(load().settings), field) == wanted


def test_collection_of_events_can_be_switched_off(monkeypatch):
    """S5-27: the eleventh name besides S5-26's two."""
    assert load().settings.memory.enable_async_data_collection
    monkeypatch.setenv("MEMORY_ENABLE_ASYNC_DATA_COLLECTION", "false")
    assert not load().settings.memory.enable_async_data_collection


@pytest.mark.parametrize("how", ["environment", "file"])
def test_the_two_names_of_s3_define_naive(monkeypatch, how):
    """S3-18: both names without a prefix, from the environment and from the file."""
    if how == "environment":
        monkeypatch.setenv("MAX_CHARS_PER_MESSAGE", "1000")
        monkeypatch.setenv("TG_HISTORY_WINDOW", "5")
    else:
        Path("backscroll.toml").write_text("max_chars_per_message = 1000\ntg_history_window = 5\n")
    loaded = load()
    assert loaded.problems == ()
    profiles = context_settings(loaded.settings).profiles
    naive = profiles["naive"]
    assert (naive.max_chars_per_message, naive.recent_limit, naive.max_messages) == (1000, 5, 5)
    assert {name for name in profiles if profiles[name] != PROFILES[name]} == {"naive"}


def test_s3_names_with_a_prefix_are_not_these(monkeypatch):
    """S3-18: `MEMORY_` and `BACKSCROLL_` do not go before them."""
    monkeypatch.setenv("BACKSCROLL_TG_HISTORY_WINDOW", "5")
    loaded = load()
    assert loaded.settings.tg_history_window == 12
    assert [problem.name for problem in loaded.problems] == ["BACKSCROLL_TG_HISTORY_WINDOW"]


def test_system_texts_of_server_and_bots_reach_the_builder():
    """S1-11: a text for the server and one for each bot."""
    settings = Settings(
        system_text="server", bots={"b1": {"system_text": "bot", "profile": "room"}}
    )
    context = context_settings(settings)
    assert context.system_text == "server"
    assert (context.bots["b1"].system_text, context.bots["b1"].profile) == ("bot", "room")


def test_own_strategies_leave_classic_the_formula_it_is() -> None:
    """S2-23, S5-16: an operator's source joins every profile but `classic`."""
    profiles = context_settings(Settings(), ("mine",)).profiles
    assert {name for name, one in profiles.items() if one.sources[-1] == "mine"} == set(
        profiles
    ) - {"classic"}
