"""Where settings come from, and what becomes of wrong ones."""

import subprocess
import sys
from pathlib import Path

import pytest

from backscroll_sidecar.concurrency.threads import CORES
from backscroll_sidecar.config.derived import chat_settings
from backscroll_sidecar.config.settings import MemorySettings, Settings, prepare_process
from backscroll_sidecar.config.sources import ConfigFileError, environment_name, known_names, load

S5_ENV = """\
# .env 文件中添加智能记忆相关配置
# 智能记忆功能开关
MEMORY_ENABLE_INTELLIGENT_MEMORY=true
MEMORY_FALLBACK_ON_ERROR=true

# 上下文构建参数
MEMORY_MAX_CONTEXT_MESSAGES=20
MEMORY_TIME_WINDOW_HOURS=24
MEMORY_RELEVANCE_THRESHOLD=0.3

# 相关性评分权重
MEMORY_REPLY_CHAIN_WEIGHT=0.4
MEMORY_USER_CONTINUITY_WEIGHT=0.15
MEMORY_TIME_DECAY_WEIGHT=0.2
MEMORY_MENTION_RELATION_WEIGHT=0.15
MEMORY_KEYWORD_OVERLAP_WEIGHT=0.1

# 性能参数
MEMORY_CONTEXT_BUILD_TIMEOUT_SECONDS=5
MEMORY_ENABLE_ASYNC_DATA_COLLECTION=true
"""
"""Section 7.1 of design S5, as it stands there."""


def wrong(loaded):
    return {problem.name for problem in loaded.problems if problem.kind == "wrong value"}


def test_the_env_file_of_s5_loads_unchanged():
    """S5-27: every one of its names is known, and its values are the defaults."""
    Path(".env").write_text(S5_ENV, "utf-8")
    loaded = load({"default_profile": "classic"})
    assert loaded.problems == ()
    assert loaded.settings.memory == MemorySettings(max_context_messages=20)
    named = {name for name, origin in loaded.origins.items() if origin.startswith(".env")}
    assert named == {f"memory.{field}" for field in MemorySettings.model_fields}


def test_classic_settings_warn_while_another_profile_is_the_default():
    """S5-27: what the active profile ignores is said once, with its names; switches and maximum are not among them."""
    Path(".env").write_text(S5_ENV, "utf-8")
    (problem,) = load().problems
    assert problem.kind == "no effect"
    assert "MEMORY_RELEVANCE_THRESHOLD" in problem.name
    assert "MEMORY_TIME_WINDOW_HOURS" in problem.name
    assert problem.name.count("_WEIGHT") == 5
    assert "MEMORY_MAX_CONTEXT_MESSAGES" not in problem.name
    assert not problem.fatal


@pytest.mark.parametrize("place", ["channel", "bot"])
def test_classic_settings_do_not_warn_where_somebody_uses_classic(monkeypatch, place):
    """S5-27."""
    monkeypatch.setenv("MEMORY_RELEVANCE_THRESHOLD", "0.5")
    table = (
        '[channel_profiles]\nc = "classic"'
        if place == "channel"
        else '[bots.b]\nprofile = "classic"'
    )
    Path("backscroll.toml").write_text(table)
    assert load().problems == ()


def test_flag_beats_environment_beats_env_file_beats_file_beats_default(monkeypatch):
    settings = [load().settings.default_model]
    Path("backscroll.toml").write_text('default_model = "from-file"')
    settings.append(load().settings.default_model)
    Path(".env").write_text("BACKSCROLL_DEFAULT_MODEL=from-dotenv")
    settings.append(load().settings.default_model)
    monkeypatch.setenv("BACKSCROLL_DEFAULT_MODEL", "from-environment")
    settings.append(load().settings.default_model)
    loaded = load({"default_model": "from-flag"})
    settings.append(loaded.settings.default_model)
    assert settings == ["gpt-4o-mini", "from-file", "from-dotenv", "from-environment", "from-flag"]
    assert loaded.origins["default_model"] == "command line: --model"


@pytest.mark.parametrize("value", ["abc", "1.5", "-0.1", "nan"])
def test_a_wrong_value_falls_back_to_the_default_with_a_warning(monkeypatch, value):
    """S5-28."""
    monkeypatch.setenv("MEMORY_RELEVANCE_THRESHOLD", value)
    loaded = load({"default_profile": "classic"})
    assert loaded.settings.memory.relevance_threshold == 0.3
    assert loaded.origins["memory.relevance_threshold"] == "default"
    assert wrong(loaded) == {"MEMORY_RELEVANCE_THRESHOLD"}
    assert loaded.refusals == ()
    assert "0.3" in str(loaded.problems[0])


def test_one_wrong_value_costs_only_itself(monkeypatch):
    """S5-28."""
    monkeypatch.setenv("MEMORY_TIME_WINDOW_HOURS", "soon")
    monkeypatch.setenv("MEMORY_RELEVANCE_THRESHOLD", "0.5")
    monkeypatch.setenv("BACKSCROLL_BOTS", "{not json")
    monkeypatch.setenv("BACKSCROLL_DEFAULT_PROFILE", "best")
    monkeypatch.setenv("BACKSCROLL_STRATEGIES", "my.module:Good,bad")
    monkeypatch.setenv("BACKSCROLL_LOG_FORMAT", "json")
    loaded = load()
    assert wrong(loaded) == {
        "MEMORY_TIME_WINDOW_HOURS",
        "BACKSCROLL_BOTS",
        "BACKSCROLL_DEFAULT_PROFILE",
        "BACKSCROLL_STRATEGIES",
    }
    assert loaded.refusals == ()
    settings = loaded.settings
    assert (settings.memory.time_window_hours, settings.memory.relevance_threshold) == (24, 0.5)
    assert (settings.default_profile, settings.log_format, dict(settings.bots)) == (
        "balanced",
        "json",
        {},
    )


@pytest.mark.parametrize(
    "name", ["BACKSCROLL_LISTEN", "BACKSCROLL_TOKENS_FILE", "BACKSCROLL_TLS_CERT"]
)
def test_what_guards_the_door_does_not_fall_back_to_an_open_one(monkeypatch, name):
    """P-28: falling back to "no tokens" would let everybody in."""
    monkeypatch.setenv(name, "no/such:file")
    assert load().refusals


def test_a_zone_that_no_calendar_knows_is_a_wrong_value(monkeypatch):
    monkeypatch.setenv("BACKSCROLL_TIME_ZONE", "Mars/Olympus")
    loaded = load({})
    assert wrong(loaded) == {"BACKSCROLL_TIME_ZONE"}
    assert loaded.settings.time_zone == "UTC"


def test_a_wrong_flag_refuses():
    assert load({"default_profile": "best"}).refusals


def test_misspelt_names_are_told_with_the_nearest_known_one(monkeypatch):
    monkeypatch.setenv("MEMORY_REPLY_CHAIN_WEIGTH", "0.4")
    monkeypatch.setenv("BACKSCROLL_DATABSE", "x")
    monkeypatch.setenv("BACKSCROLL_WHATEVER", "x")
    monkeypatch.setenv("MEMORY_LIMIT_OF_MY_CONTAINER", "512m")
    monkeypatch.setenv("TG_HISTORY_WINDOWS", "12")
    Path("backscroll.toml").write_text("listn = []\n[memory]\nfallback = true\n")
    told = {problem.name: problem.message for problem in load().problems}
    assert set(told) == {
        "MEMORY_REPLY_CHAIN_WEIGTH",
        "BACKSCROLL_DATABSE",
        "BACKSCROLL_WHATEVER",
        "TG_HISTORY_WINDOWS",
        "listn",
        "memory.fallback",
    }
    assert "MEMORY_REPLY_CHAIN_WEIGHT?" in told["MEMORY_REPLY_CHAIN_WEIGTH"]
    assert "BACKSCROLL_DATABASE?" in told["BACKSCROLL_DATABSE"]
    assert "listen?" in told["listn"]


def test_an_empty_variable_is_an_unset_one(monkeypatch):
    monkeypatch.setenv("MEMORY_TIME_WINDOW_HOURS", "")
    monkeypatch.setenv("BACKSCROLL_DATABASE", "")
    loaded = load()
    assert loaded.problems == ()
    assert loaded.settings.memory.time_window_hours == 24


def test_a_file_that_cannot_be_read_refuses(monkeypatch, tmp_path):
    with pytest.raises(ConfigFileError, match=r"missing\.toml"):
        load(config=tmp_path / "missing.toml")
    Path("backscroll.toml").write_text("listen = [")
    with pytest.raises(ConfigFileError, match=r"backscroll\.toml"):
        load()


def test_an_env_file_that_is_no_text_refuses():
    Path(".env").write_bytes(b"MEMORY_TIME_WINDOW_HOURS=\xff\n")
    with pytest.raises(ConfigFileError, match=r"\.env"):
        load()


def test_the_home_of_nobody_is_a_wrong_value(monkeypatch):
    monkeypatch.setenv("BACKSCROLL_STATE_DIR", "~nosuchuser/backscroll")
    loaded = load()
    assert wrong(loaded) == {"BACKSCROLL_STATE_DIR"}
    assert loaded.origins["state_dir"] == "default"


@pytest.mark.parametrize("value", [str(max(CORES, default=0) + 1), "-1", "0.5", "first"])
def test_a_core_this_process_may_not_use_is_a_wrong_value(monkeypatch, value):
    monkeypatch.setenv("BACKSCROLL_EVENT_LOOP_CORE", value)
    loaded = load()
    assert wrong(loaded) == {"BACKSCROLL_EVENT_LOOP_CORE"}
    assert loaded.settings.event_loop_core is None


@pytest.mark.skipif(not CORES, reason="threads cannot choose")
def test_any_core_of_the_process_can_be_the_loops(monkeypatch):
    monkeypatch.setenv("BACKSCROLL_EVENT_LOOP_CORE", str(max(CORES)))
    assert load().settings.event_loop_core == max(CORES)


def test_lists_and_tables(monkeypatch):
    monkeypatch.setenv("BACKSCROLL_LISTEN", "127.0.0.1:0, unix:/tmp/b.sock ,[::1]:7171")
    monkeypatch.setenv("BACKSCROLL_CHANNEL_PROFILES", '{"c1": "room"}')
    Path("backscroll.toml").write_text('[bots.cat]\nsystem_text = "喵"\n')
    settings = load().settings
    assert settings.listen == ("127.0.0.1:0", "unix:/tmp/b.sock", "[::1]:7171")
    assert dict(settings.channel_profiles) == {"c1": "room"}
    assert settings.bots["cat"].system_text == "喵"


def test_the_database_lies_in_the_state_directory(monkeypatch, tmp_path):
    assert load().settings.database_path == tmp_path / "share/backscroll/backscroll.db"
    monkeypatch.setenv("BACKSCROLL_STATE_DIR", str(tmp_path / "elsewhere"))
    assert load().settings.database_path == tmp_path / "elsewhere/backscroll.db"
    monkeypatch.setenv("BACKSCROLL_DATABASE", "~/b.db")
    assert load().settings.database_path == Path.home() / "b.db"
    monkeypatch.setenv("BACKSCROLL_DATABASE", ":memory:")
    assert load().settings.in_memory


def test_settings_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        Settings().default_model = "other"


def test_names_are_the_documented_ones():
    assert environment_name(Settings, "listen") == "BACKSCROLL_LISTEN"
    assert environment_name(MemorySettings, "time_window_hours") == "MEMORY_TIME_WINDOW_HOURS"
    assert {"MAX_CHARS_PER_MESSAGE", "TG_HISTORY_WINDOW"} <= known_names()
    assert len([name for name in known_names() if name.startswith("MEMORY_")]) == 12


@pytest.mark.row("P-18")
def test_kernels_are_kept_in_the_users_cache_before_numba_is_imported(tmp_path):
    """P-18: nothing is compiled twice, and loading the settings imports neither numba nor numpy."""
    code = (
        "import os, sys\n"
        "from backscroll_sidecar.config.sources import load\n"
        "from backscroll_sidecar.config.settings import prepare_process\n"
        "prepare_process(load({'state_dir': sys.argv[1] + '/state'}).settings)\n"
        "assert not {'numba', 'numpy'} & set(sys.modules)\n"
        "import numba\n"
        "print(numba.config.CACHE_DIR, numba.config.NUMBA_NUM_THREADS)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True, text=True, check=True, env={"PATH": "/usr/bin", "HOME": str(tmp_path)},
    )  # fmt: skip
    directory, threads = run.stdout.split()
    assert Path(directory).parent == tmp_path / ".cache" / "backscroll" / "kernels"
    assert Path(directory).stat().st_mode & 0o077 == 0, "others could put code there"
    assert threads == "1"
    assert not (tmp_path / "state").exists()


def test_an_own_cache_directory_stays(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "mine"))
    assert prepare_process(load().settings) == (tmp_path / "mine", "")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("listen = 7", "a list is wanted"),
        ("bots = 5", "a table is wanted"),
        ("bots = { cat = { profil = 'room' } }", "cat.profil: there is no such key"),
        ("default_model = 5", "a text is wanted"),
        ("tg_history_window = 'x'", "a whole number is wanted"),
        ("model_missing_finish_is_complete = 'maybe'", "true or false is wanted"),
    ],
)
def test_wrong_kinds_are_named_in_the_words_of_the_file(line, says):
    Path("backscroll.toml").write_text(line + "\n")
    (problem,) = load().problems
    assert says in problem.message
    assert "tuple" not in problem.message
    assert "dict" not in problem.message


def test_a_table_in_a_variable_is_json(monkeypatch):
    monkeypatch.setenv("BACKSCROLL_BOTS", "cat")
    (problem,) = load().problems
    assert "a table is wanted, as JSON" in problem.message


@pytest.mark.parametrize("field", ["model_api_key", "model_headers", "model_base_url"])
def test_what_may_hold_a_key_is_not_repeated(field):
    """A wrong value is named, not shown."""
    Path("backscroll.toml").write_text(f"{field} = ['sk-secret']\n")
    (problem,) = load().problems
    assert "wanted" in problem.message
    assert "sk-secret" not in str(problem)


@pytest.mark.parametrize(
    ("value", "temperature"), [("none", "none"), ("0", 0.0), ("1.5", 1.5), ("2", 2.0)]
)
def test_a_temperature_is_a_number_or_none(monkeypatch, value, temperature):
    """S5-30: a model may refuse any; `none` sends none."""
    monkeypatch.setenv("BACKSCROLL_TEMPERATURE", value)
    loaded = load()
    assert (loaded.settings.temperature, loaded.problems) == (temperature, ())
    assert chat_settings(loaded.settings).temperature == (
        None if temperature == "none" else temperature
    )


@pytest.mark.parametrize("value", ["None!", "-0.1", "2.1", "nan", "inf", "hot"])
def test_any_other_temperature_is_wrong(monkeypatch, value):
    """S5-28: said once, with what it may be."""
    monkeypatch.setenv("BACKSCROLL_TEMPERATURE", value)
    loaded = load()
    assert loaded.settings.temperature == 0.7
    (problem,) = loaded.problems
    assert problem.name == "BACKSCROLL_TEMPERATURE"
    assert "from 0 to 2, or none" in problem.message
