"""deploy/: the dashboard and the rules, as files and in a real Prometheus over a live server."""

import asyncio
import importlib.util
import json
import math
import re
import shutil
import socket
import subprocess
import sys
import urllib.parse
import urllib.request
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from backscroll import AsyncClient, ExperimentArm, Message, Overrides
from backscroll.errors import InvalidRequest
from backscroll_sidecar.ports import UsageDelta
from backscroll_sidecar.server import serve_metrics
from backscroll_sidecar.strategies import Empty, StrategyQuery
from backscroll_sidecar.telemetry.panels import PANELS
from backscroll_sidecar.wiring import SystemClock
from tests.integration.learning.test_experiments import drawn
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.fake_model import STOP, FakeModel
from tests.kit.served import running

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "prometheus"
PAGE = ROOT / "docs/guide/monitoring.md"
HAS_SDK = importlib.util.find_spec("grafana_foundation_sdk") is not None
needs_sdk = pytest.mark.skipif(not HAS_SDK, reason="grafana-foundation-sdk is not installed")
needs_prometheus = pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("promtool")),
    reason="prometheus and promtool are not installed: apt-get install prometheus",
)
ALERTS = {
    "BackscrollBuildSlow",
    "BackscrollFallbacks",
    "BackscrollErrors",
    "BackscrollRelevanceLow",
    "BackscrollSampleRatio",
}
NOON = 1_795_176_000_000
PAUSE_S, ENOUGH_S = 0.1, 240.0


@needs_sdk
def test_dashboard_and_rules_are_fresh(tmp_path):
    subprocess.run([sys.executable, ROOT / "tools/make-monitoring", tmp_path], check=True)
    for path in ("prometheus/backscroll.rules.yml", "grafana/backscroll.json"):
        fresh, committed = (tmp_path / path).read_text("utf-8"), DEPLOY / path
        assert fresh == committed.read_text("utf-8"), "run: .venv/bin/python tools/make-monitoring"


def test_the_dashboard_shows_every_panel_from_its_rule():
    """Build trend, score distribution, savings, errors and fallbacks among them; each names where it comes from."""
    board = json.loads((DEPLOY / "grafana/backscroll.json").read_text("utf-8"))
    recorded = re.findall(r"- record: (\S+)", (RULES / "backscroll.rules.yml").read_text("utf-8"))
    shown = {panel["title"]: panel["targets"][0]["expr"] for panel in board["panels"]}
    assert shown == {panel.title: panel.rule for panel in PANELS}
    assert list(shown.values()) == recorded
    assert {"Build time", "Relevance scores", "Token savings", "Errors and fallbacks"} <= set(shown)
    units = {panel["title"]: panel["fieldConfig"]["defaults"]["unit"] for panel in board["panels"]}
    assert units["Build time"] == "s"
    assert units["Token savings"] == "percentunit"
    places = {(one["gridPos"]["x"], one["gridPos"]["y"]) for one in board["panels"]}
    assert len(places) == len(PANELS)


@needs_sdk
def test_the_dashboard_is_one_that_grafana_reads():
    """Read by the library's own model, and written again, it is the same."""
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.cog.plugins import register_default_plugins
    from grafana_foundation_sdk.models.dashboard import Dashboard

    register_default_plugins()
    board = json.loads((DEPLOY / "grafana/backscroll.json").read_text("utf-8"))
    again = json.loads(json.dumps(Dashboard.from_json(board), cls=JSONEncoder))
    assert [panel["title"] for panel in again["panels"]] == [p["title"] for p in board["panels"]]
    assert [panel["targets"] for panel in again["panels"]] == [
        p["targets"] for p in board["panels"]
    ]


def test_every_alert_says_what_to_do():
    """Each waits, and names a part of the documentation that is there."""
    text = (RULES / "backscroll.alerts.yml").read_text("utf-8")
    assert set(re.findall(r"- alert: (\w+)", text)) == ALERTS
    assert len(re.findall(r"^ +for: [1-9]", text, re.MULTILINE)) == len(ALERTS)
    heads = re.findall(r"^#+ (.+)$", PAGE.read_text("utf-8"), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in heads}
    links = re.findall(r"runbook_url: \S+/docs/guide/monitoring\.md#(\S+)", text)
    assert len(links) == len(ALERTS)
    assert set(links) <= anchors


@needs_prometheus
def test_the_rules_keep_their_own_tests():
    """promtool: each alert fires where it must and stays silent where it must, for every profile."""
    done = subprocess.run(
        ["promtool", "test", "rules", "backscroll.tests.yml"],
        cwd=RULES, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    config = ["promtool", "check", "config", "prometheus.yml"]
    assert subprocess.run(config, cwd=RULES, capture_output=True, check=False).returncode == 0


# --- live -----------------------------------------------------------------------------------------


class Clock(SystemClock):
    """The machine's time, which a source may let pass."""

    passed_s = 0.0

    def monotonic_s(self) -> float:
        return super().monotonic_s() + Clock.passed_s


class Stalls:
    """A source of the operator's own that takes 6 s of a question that says so."""

    name = "stalls"

    def gather(self, query: StrategyQuery) -> Empty:
        if "slowly" in query.question:
            Clock.passed_s += 6
        return Empty()


class Prometheus:
    """A real one, which scrapes every second."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def query(self, expression: str) -> list[dict]:
        """The samples of an instant query."""
        url = f"http://{self._address}/api/v1/query?query={urllib.parse.quote(expression)}"
        return await asyncio.to_thread(self._get, url)

    async def firing(self) -> set[str]:
        found = await self.query('ALERTS{alertstate="firing"}')
        return {one["metric"]["alertname"] for one in found}

    def _get(self, url: str) -> list[dict]:
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.load(answer)["data"]["result"]
        except OSError:
            return []


@asynccontextmanager
async def prometheus(directory: Path, scraped: str):
    """It, with the rules of deploy/, evaluated each second and without waiting."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{one.getsockname()[1]}"
    for name in ("rules", "alerts"):
        text = (RULES / f"backscroll.{name}.yml").read_text("utf-8")
        text = text.replace("interval: 15s", "interval: 1s")
        text = re.sub(r"for: \d+m", "for: 0s", text)
        (directory / f"backscroll.{name}.yml").write_text(text, "utf-8")
    config = (RULES / "prometheus.yml").read_text("utf-8").replace("127.0.0.1:9464", scraped)
    (directory / "prometheus.yml").write_text(config.replace("15s", "1s"), "utf-8")
    process = await asyncio.create_subprocess_exec(
        "prometheus",
        "--config.file=prometheus.yml",
        f"--storage.tsdb.path={directory / 'data'}",
        f"--web.listen-address={address}",
        "--log.level=error",
        cwd=directory,
    )
    try:
        yield Prometheus(address)
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def live(tmp_path: Path):
    """A server with everything that counts, scraped by a Prometheus."""

    def vendor(request):
        return ["ok", UsageDelta(200, 5), STOP]

    Clock.passed_s = 0.0
    async with (
        running(
            clock=Clock(),
            model=FakeModel(answer=vendor),
            embedder=FakeEmbedder(),
            strategies=(f"{__name__}:Stalls",),
        ) as (server, _),
        AsyncClient(server.addresses[0], timeout_s=120.0) as client,
    ):
        metrics = serve_metrics(server, "127.0.0.1:0")
        try:
            async with prometheus(tmp_path, metrics.address) as scraper:
                yield client, scraper
        finally:
            await asyncio.to_thread(metrics.close)


async def talk(client) -> None:
    """A small load: some of everything, ten times a second."""
    words = ("pond", "猫", "disk", "grub", "kernel", "dinner")
    lines = [
        Message(
            f"m{n}",
            f"u{n % 5}",
            f"the {words[n % 6]} and the {words[n % 5]} again",
            NOON + n * 9_000,
        )
        for n in range(200)
    ]
    await client.append("room", lines)


async def ask(client, n: int) -> None:
    profile = ("balanced", "classic", "steady", "hybrid")[n % 4]
    asked = {"asker": f"u{n % 5}", "asked_at": NOON + 2_000_000}
    built = await client.build_context(
        "room", "what of the pond?", profile=profile, reply="m199", **asked
    )
    await client.chat("room", f"and the disk {n}?", asker="u1", asked_at=NOON + 2_000_000 + n)
    await client.record_feedback(built.id, success=0.75)


@needs_prometheus
@pytest.mark.slow
@pytest.mark.row("S5-37", "S5-38")
async def test_every_panel_and_every_alert_of_a_live_server(tmp_path):
    """Each panel has series of the right size in its unit, and no alert fires; in a bad hour each does."""
    async with live(tmp_path) as (client, scraper):
        await talk(client)
        missing, n = {panel.rule for panel in PANELS}, 0
        async with asyncio.timeout(ENOUGH_S):
            while missing:
                await ask(client, n := n + 1)
                await asyncio.sleep(PAUSE_S)
                if n % 10 == 0:
                    missing = {one for one in missing if not await numbers(scraper, one)}
        found = {panel.name: await numbers(scraper, panel.rule) for panel in PANELS}
        assert set(found["build_time"]) == {"average", "95 %"}
        assert all(1e-5 < value < 5 for value in found["build_time"].values())
        assert set(found["stage_time"]) >= {"open", "pick", "fit"}
        assert all(0 <= value < 5 for value in found["stage_time"].values())
        assert found["contexts_per_minute"]["ranked"] > 1
        assert found["errors_and_fallbacks"] == {"errors": 0, "fallbacks": 0}
        assert -1 < found["token_savings"]["saved"] < 1
        assert set(found["relevance"]) == {"balanced", "classic", "steady", "hybrid"}
        assert all(0 <= value <= 1 for value in found["relevance"].values())
        assert sum(found["score_distribution"].values()) > 10
        assert 0 < found["cache_hits"]["hits"] <= 1
        assert found["feedback"] == {"satisfaction": 0.75, "effective": 1}
        assert 0 < found["token_count_error"]["gpt-4o-mini"] < 3
        assert set(found["queues"]) == {"writer", "embedding"}
        assert await scraper.firing() == set()

        await skew(client)
        firing: set[str] = set()
        async with asyncio.timeout(ENOUGH_S):
            while firing != ALERTS:
                n += 1
                await client.build_context("room", "slowly", asker="u1", profile="balanced")
                with pytest.raises(InvalidRequest):
                    await client.build_context("room", "?", asker="u1", profile="none such")
                for _ in range(5):  # far from the newest: scores of .2 and less
                    await client.build_context(
                        "room", "zzz", asker="nobody", profile="classic",
                        asked_at=NOON + 23 * 3_600_000,
                        overrides=Overrides(relevance_threshold=0.0),
                    )  # fmt: skip
                firing |= await scraper.firing()
                await asyncio.sleep(PAUSE_S)


async def skew(client) -> None:
    """An experiment of which only the channels of one arm ask anything."""
    names = ("one", "other")
    await client.put_experiment(
        "halves", [ExperimentArm(name, profile="classic") for name in names]
    )
    there = drawn("halves", names, 1.0, [f"c{n}" for n in range(60)])
    for channel in (channel for channel, arm in there.items() if arm == "one"):
        await client.build_context(channel, "what of it?", asker="u1")


async def numbers(scraper: Prometheus, rule: str) -> dict[str, float]:
    """The values of a panel by series; none where one is missing or no number."""
    found = {one["metric"]["series"]: float(one["value"][1]) for one in await scraper.query(rule)}
    return {} if any(map(math.isnan, found.values())) else found
