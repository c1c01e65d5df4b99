"""S5-20, S5-33: what a scrape of a whole server tells."""

from contextlib import contextmanager

import pytest

from backscroll import Author, Client, Message, PermissionDenied
from backscroll_sidecar.telemetry.panels import PANELS
from tests.kit.scraped import scrape

METRICS = {"BACKSCROLL_METRICS_LISTEN": "127.0.0.1:0"}


@contextmanager
def running(shell):
    """Addresses of a server and of its metrics."""
    with shell.serving(**METRICS) as process:
        yield process.address, process.ready["metrics"]


@pytest.fixture
def served(shell):
    with running(shell) as addresses:
        yield addresses


def line(n, text="does grub see the 猫 disk?"):
    return Message(f"m{n}", Author("u1", "Ann"), text, sent_at=1_700_000_000_000 + n)


@pytest.mark.row("S5-33")
def test_a_scrape_tells_how_long_builds_took_and_how_often_their_channel_was_in_memory(served):
    """S5-33: the average build time and the cache hit rate."""
    address, metrics = served
    before = scrape(metrics)
    assert before["backscroll_context_build_seconds_count",] == 0
    assert "backscroll_avg_context_build_time_ms" not in {name for name, *_ in before}
    with Client(address) as client:
        client.append("room", [line(1)])
        for _ in range(3):
            client.build_context("room", "which disk?", asker=Author("u2", "Ben"))
        client.build_context("no such room", "which disk?", asker=Author("u2", "Ben"))
    told = scrape(metrics)
    assert told["backscroll_context_build_seconds_count",] == 4
    assert told["backscroll_context_build_seconds_bucket", "+Inf"] == 4
    seconds = told["backscroll_context_build_seconds_sum",]
    assert 0 < seconds < 60
    assert told["backscroll_avg_context_build_time_ms", "start"] == pytest.approx(seconds / 4 * 1e3)
    hits = told["backscroll_context_cache_requests_total", "hit"]
    assert hits + told["backscroll_context_cache_requests_total", "miss"] == 4
    assert (
        2 <= hits <= 3
    )  # an append may have brought the channel into memory; the unknown one never is
    assert told["backscroll_context_cache_hit_rate", "hour"] == hits / 4


@pytest.mark.row("S5-20")
def test_a_text_is_analysed_once(served):
    """S5-20: the second analysis of a message comes from the cache, and the hit rate says so."""
    address, metrics = served
    with Client(address) as client:
        client.append("room", [line(1)])
        first = scrape(metrics)
        client.append("room", [line(1)])  # redelivered
        client.append("room", [line(2), line(3)])  # said again
        again = scrape(metrics)
        client.append("room", [line(4, "another text"), line(5, "long " * 200)])
        other = scrape(metrics)
    requests = "backscroll_feature_cache_requests_total"
    assert (first[requests, "hit"], first[requests, "miss"]) == (0, 1)
    assert again[requests, "miss"] == 1
    assert again[requests, "hit"] >= 2
    assert other[requests, "miss"] == 3
    rate = other[requests, "hit"] / (other[requests, "hit"] + 3)
    assert other["backscroll_feature_cache_hit_rate", "start"] == pytest.approx(rate)


@pytest.mark.row("S5-20")
def test_stored_features_are_not_worked_out_again(shell):
    """S5-20: a start reads the features of what is stored; builds then analyse their questions and nothing else."""
    asked = {"asker": Author("u2", "Ben"), "asked_at": 1_700_000_060_000}
    asked |= {"profile": "classic", "explain": True}
    questions = ["猫在哪里？", "which disk?"]

    def overlaps(client):
        found = [client.build_context("room", one, **asked).explanation for one in questions]
        place = list(found[0].factors).index("keyword_overlap")
        return [{c.message_id: c.shares[place] for c in one.candidates} for one in found]

    with running(shell) as (address, _), Client(address) as client:
        client.append("room", [line(n, f"line {n}: 猫 and disk {n}") for n in range(40)])
        before = overlaps(client)
        stored = list(client.list_messages("room"))
    assert all(share > 0 for one in before for share in one.values())
    requests = "backscroll_feature_cache_requests_total"
    with running(shell) as (address, metrics), Client(address) as client:
        assert overlaps(client) == before
        assert list(client.list_messages("room")) == stored
        told = scrape(metrics)
        assert (told[requests, "miss"], told[requests, "hit"]) == (2, 0)
        assert overlaps(client) == before
        told = scrape(metrics)
    assert (told[requests, "miss"], told[requests, "hit"]) == (2, 2)
    assert told["backscroll_feature_cache_hit_rate", "start"] == 0.5


@pytest.mark.row("P-28")
def test_metrics_are_for_this_machine_only(shell):
    """Scrapes have no credential, so nobody else may reach them (P-28)."""
    done = shell.run("serve", "--listen", "127.0.0.1:0", BACKSCROLL_METRICS_LISTEN="0.0.0.0:9464")
    assert done.returncode == 2
    assert "metrics_listen" in done.stderr
    assert "127.0.0.1" in done.stderr


@pytest.mark.row("S5-54", "S5-60")
def test_the_command_tells_what_a_scrape_does(shell, served):
    """`backscroll metrics`: a table by period; as JSON every number of the scrape, typed. And by the client."""
    address, metrics = served
    shell.environment["BACKSCROLL_SERVER"] = address
    assert shell.run("metrics").stdout == "No context was built yet.\n"
    with Client(address) as client:
        client.append("room", [line(1), line(2)])
        asked = {"asker": Author("u2", "Ben"), "asked_at": 1_700_000_060_000, "reply": "m1"}
        client.build_context("room", "which disk?", profile="classic", **asked)
        of_client = client.get_metrics()
    told, scraped = shell.json("metrics"), scrape(metrics)
    told = [one for one in told if "_queue_" not in one["name"]]  # these move by themselves
    scraped = {key: n for key, n in scraped.items() if "_queue_" not in key[0]}

    def sampled(name, labels, period):
        every = labels | ({"period": period} if period else {})
        return (name, *(every[key] for key in sorted(every)))

    assert {sampled(s["name"], s["labels"], s.get("period")): s["value"] for s in told} == scraped
    client_told = {sampled(s.name, dict(s.labels), s.period): s.value for s in of_client}
    assert {key: n for key, n in client_told.items() if "_queue_" not in key[0]} == scraped
    [hour] = [s for s in told if s["name"].endswith("_build_time_ms") and s["period"] == "hour"]
    assert (hour["unit"], hour["kind"], hour["labels"]) == ("ms", "METRIC_KIND_GAUGE", {})
    named = shell.json("metrics", "context_builds")
    assert {s["name"] for s in named} == {"backscroll_context_builds_total"}
    table = shell.run("metrics").stdout
    assert "contexts_built_per_hour" in table
    assert "profile=classic" in table
    assert "context_builds_total" not in table
    assert "context_builds_total" in shell.run("metrics", "--all").stdout
    assert "1 contexts" in shell.run("metrics", "backscroll_context_builds_total").stdout
    wrong = shell.run("metrics", "builds")
    assert wrong.returncode == 1
    assert "names[0]: no metric has this name" in wrong.stderr
    assert "--all" in wrong.stderr


def test_one_tenant_of_several_does_not_see_the_numbers_of_all(shell):
    """Nothing of another tenant is told, not even how much it does."""
    tokens = shell.directory / "tokens.toml"
    tokens.write_text('[tokens]\n"one-token" = "one"\n"two-token" = "two"\n')
    with (
        shell.serving("--tokens-file", str(tokens)) as process,
        Client(process.address, token="one-token") as client,
    ):
        with pytest.raises(PermissionDenied, match="tenants"):
            client.get_metrics()
        assert list(client.list_channels()) == []
    tokens.write_text('[tokens]\n"one-token" = "one"\n"other" = "one"\n')
    with (
        shell.serving("--tokens-file", str(tokens)) as process,
        Client(process.address, token="one-token") as client,
    ):
        assert client.get_metrics()


@pytest.mark.row("S5-37")
def test_plot_shows_the_panels(shell, served):
    """In the terminal, as JSON, as a picture; what has no data says so."""
    address, _ = served
    shell.environment["BACKSCROLL_SERVER"] = address
    assert shell.run("plot").stdout.count("no data") == len(PANELS) - 1  # queues are never without
    with Client(address) as client:
        client.append("room", [line(1), line(2)])
        asked = {"asker": Author("u2", "Ben"), "asked_at": 1_700_000_060_000, "reply": "m1"}
        client.build_context("room", "which disk?", profile="classic", **asked)
    told = {one["name"]: one for one in shell.json("plot")}
    assert list(told) == [panel.name for panel in PANELS]
    assert sum(value for [value] in told["score_distribution"]["series"].values()) == 1
    shown = shell.run("plot").stdout
    assert [title for title in shown.splitlines() if title in {p.title for p in PANELS}] == [
        panel.title for panel in PANELS
    ]
    assert "1 messages" in shown
    picture = shell.directory / "panels.png"
    assert shell.run("plot", "--png", str(picture)).returncode == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    nowhere = shell.run("plot", "--png", str(shell.directory / "none" / "x.png"))
    assert (nowhere.returncode, "--png" in nowhere.stderr) == (1, True)
