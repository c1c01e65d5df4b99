"""What a scrape says, by the names of samples and the values of their labels."""

import urllib.request

from prometheus_client.parser import text_string_to_metric_families


def scrape(address: str) -> dict[tuple[str, ...], float]:
    """Every sample of a server's metrics."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=120) as answer:
        text = answer.read().decode()
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
