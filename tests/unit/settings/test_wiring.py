"""Settings do what they say: each reaches the part it is about."""

import logging
import sys

import pytest

from backscroll_sidecar.config.settings import MemorySettings, Settings
from backscroll_sidecar.config.sources import load
from backscroll_sidecar.config.types import PostgresUrl
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.domain import Author, ChannelKey, Message, TextPart
from backscroll_sidecar.edge import self_warmup
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.own_parts import own_strategies
from backscroll_sidecar.store.opening import examine_store, open_store
from backscroll_sidecar.wiring import open_app

KEY = ChannelKey("default", "c")


def said(number: int, text: str = "hello there", channel: str = "c") -> Message:
    return Message(f"m{number}", channel, Author("u1", "Ann"), (TextPart(text),), number + 1)


def settings(**values) -> Settings:
    return Settings(database=":memory:", **values)


@pytest.mark.parametrize(("collect", "recorded"), [(True, {"context.compressed"}), (False, set())])
async def test_events_are_recorded_unless_switched_off(collect, recorded):
    """S5-27: MEMORY_ENABLE_ASYNC_DATA_COLLECTION."""
    memory = MemorySettings(enable_async_data_collection=collect)
    async with open_app(settings(memory=memory, default_profile="naive")) as app:
        await app.history.append(KEY, [said(n, "x" * 5_000) for n in range(3)])
        await app.builder.build(BuildRequest(KEY, "so?", asked_at_ms=100))
        await app.writer.drain(5)
        types = {one.event.type for one in await app.store.events(KEY)}
    assert recorded <= types
    assert bool(types) == collect


@pytest.mark.parametrize("durability", ["full", "normal"])
async def test_durability_reaches_the_database(tmp_path, durability):
    async with open_app(Settings(state_dir=tmp_path, durability=durability)) as app:
        assert (await app.store.stats()).synchronous == durability
    assert (tmp_path / "backscroll.db").exists()


async def test_memory_for_channels_is_bounded():
    small, large = settings(hot_channel_bytes=1024 * 1024), settings()
    for chosen, kept in ((small, 1), (large, 2)):
        async with open_app(chosen) as app:
            for channel in ("a", "b"):
                lines = [said(n, f"{n} " * 10_000, channel) for n in range(60)]
                await app.history.append(ChannelKey("default", channel), lines)
                await app.builder.build(BuildRequest(ChannelKey("default", channel), "so?"))
            assert len(app.channels) == kept


async def test_profiles_of_server_channel_and_bot():
    chosen = settings(
        default_profile="room",
        channel_profiles={"quiet": "naive"},
        bots={"cat": {"profile": "classic"}},
    )
    async with open_app(chosen) as app:
        used = [
            (await app.builder.build(request)).profile
            for request in (
                BuildRequest(KEY, "so?"),
                BuildRequest(ChannelKey("default", "quiet"), "so?"),
                BuildRequest(ChannelKey("default", "quiet"), "so?", self_ids=("cat",)),
                BuildRequest(KEY, "so?", self_ids=("cat",), profile="balanced"),
            )
        ]
    assert used == ["room", "naive", "classic", "balanced"]


async def test_warming_up_touches_no_history(tmp_path, monkeypatch):
    monkeypatch.setattr(self_warmup, "_is_warm", False)
    async with open_app(Settings(state_dir=tmp_path)) as app:
        await app.warm_up()
        assert sum((await app.store.stats()).row_counts.values()) == 0
        assert len(app.channels) == 0


def test_a_broken_strategy_is_left_out_with_a_warning(caplog):
    """S2-23, law 5."""

    class Odd:
        name = "odd"

    sys.modules[__name__].Odd = Odd
    with caplog.at_level(logging.WARNING):
        found = own_strategies(settings(strategies=(f"{__name__}:Odd", "nowhere:Thing")))
    assert found == {}
    assert "nowhere" in caplog.text
    assert "no gather" in caplog.text


def test_a_database_is_examined_without_being_changed(tmp_path):
    path = tmp_path / "other.db"
    path.write_bytes(b"no database at all, but long enough to look like a file" * 20)
    before = path.read_bytes()
    found = {one.name: one for one in examine_store(f"sqlite:///{path}")}
    assert found["database"].status == "fail"
    assert path.read_bytes() == before
    missing = list(examine_store(f"sqlite:///{tmp_path / 'none.db'}"))
    assert "not there yet" in missing[-1].detail
    assert not (tmp_path / "none.db").exists()


async def test_a_store_is_opened_by_its_url(tmp_path):
    """S2-17: what has no files needs no maintenance; what is not there yet says so."""
    store = await open_store("memory:")
    assert store.maintenance is None
    await store.close()
    store = await open_store(f"sqlite:///{tmp_path / 'new' / 'h.db'}")
    await store.maintenance.wipe()
    await store.close()
    assert (tmp_path / "new" / "h.db").exists()
    with pytest.raises(StoreUnavailable, match="the database cannot be reached"):
        await open_store(f"postgresql:///db?host={tmp_path}")
    with pytest.raises(StoreUnavailable, match="mysql:// is no kind of store"):
        await open_store("mysql://host/db")


@pytest.mark.parametrize(
    ("said", "url"),
    [
        ("/x/h.db", "sqlite:////x/h.db"), ("sqlite:////x/h.db", "sqlite:////x/h.db"),
        ("h.db", "sqlite:///h.db"), ("sqlite:///h.db", "sqlite:///h.db"),
        (":memory:", "memory:"), ("memory:", "memory:"),
    ],
)  # fmt: skip
def test_a_database_is_named_by_path_or_url(said, url):
    assert Settings(database=said).store_url == url


def test_a_database_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="mysql:// is no kind of database here"):
        Settings(database="mysql://host/db")


def test_the_password_of_a_database_is_never_shown():
    for given, shown in (
        ("postgresql://bot:s3cret@db.example:5432/chat", "postgresql://bot@db.example:5432/chat"),
        ("postgresql://bot@db.example/chat", "postgresql://bot@db.example/chat"),
        ("postgresql:///chat?host=/run", "postgresql:///chat?host=/run"),
        (
            "postgresql:///chat?password=s3c%26&host=/run",
            "postgresql:///chat?password=***&host=/run",
        ),
        ("postgresql://bot:s3cret%2F@[::1]:5,b/chat", "postgresql://bot@[::1]:5,b/chat"),
        ("postgresql://bot:s3cret@a:5432,b:5433/chat", "postgresql://bot@a:5432,b:5433/chat"),
    ):
        chosen = Settings(database=given)
        assert (chosen.store_url, chosen.database_name) == (given, shown)
        assert "s3cret" not in repr(chosen) + str(chosen.model_dump())


@pytest.mark.parametrize(
    "password",
    ["s3/cret", "s3@cret", "s3:cret", "1/s3cret", "/s3cret", "s3cret@/", "s3cret@?", "s3#cret", "s3[cret"],
)  # fmt: skip
def test_a_password_that_is_not_encoded_is_refused_unsaid(password, monkeypatch):
    url = f"postgresql://bot:{password}@db.example:5432/chat"
    monkeypatch.setenv("BACKSCROLL_DATABASE", url)
    (refusal,) = load().refusals
    assert "is no URL of PostgreSQL" in str(refusal)
    assert "cret" not in str(refusal) + str(PostgresUrl(url))


def test_no_other_database_is_taken_for_one_that_is_wrong(monkeypatch):
    monkeypatch.setenv("BACKSCROLL_DATABASE", "mysql://bot:s3cret@host/db")
    (refusal,) = load().refusals
    assert "is no kind of database here" in str(refusal)
    assert "s3cret" not in str(refusal)
