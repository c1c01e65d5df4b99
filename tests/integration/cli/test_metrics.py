"""S5-20, S5-33: what a scrape of a whole server tells."""

import urllib.request
from contextlib import contextmanager

import pytest
from prometheus_client.parser import text_string_to_metric_families

from backscroll import Author, Client, Message

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


def scrape(address):
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=120) as answer:
        text = answer.read().decode()
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def line(n, text="does grub see the 猫 disk?"):
    return Message(f"m{n}", Author("u1", "Ann"), text, sent_at=1_700_000_000_000 + n)


@pytest.mark.row("S5-33")
def test_a_scrape_tells_how_long_builds_took_and_how_often_their_channel_was_in_memory(served):
    """S5-33: the average build time and the cache hit rate."""
    address, metrics = served
    before = scrape(metrics)
    assert before["backscroll_avg_context_build_time_ms",] == 0
    assert before["backscroll_context_cache_hit_rate",] == 0
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
    assert told["backscroll_avg_context_build_time_ms",] == pytest.approx(seconds / 4 * 1e3)
    hits = told["backscroll_context_cache_requests_total", "hit"]
    assert hits + told["backscroll_context_cache_requests_total", "miss"] == 4
    assert (
        2 <= hits <= 3
    )  # an append may have brought the channel into memory; the unknown one never is
    assert told["backscroll_context_cache_hit_rate",] == hits / 4


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
    assert other["backscroll_feature_cache_hit_rate",] == pytest.approx(rate)


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
    assert told["backscroll_feature_cache_hit_rate",] == 0.5


@pytest.mark.row("P-28")
def test_metrics_are_for_this_machine_only(shell):
    """Scrapes have no credential, so nobody else may reach them (P-28)."""
    done = shell.run("serve", "--listen", "127.0.0.1:0", BACKSCROLL_METRICS_LISTEN="0.0.0.0:9464")
    assert done.returncode == 2
    assert "metrics_listen" in done.stderr
    assert "127.0.0.1" in done.stderr
