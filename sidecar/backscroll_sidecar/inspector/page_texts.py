"""Every text of the inspector's pages by its key, in the reader's language. Pure.

Words of the contract, such as the names of profiles, sources and terms, are the same in both: who reads them here looks
for them there. What they mean is said in each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from backscroll_sidecar.inspector.texts import (
    chats,
    comparisons,
    contract_words,
    errors,
    frame,
    questions,
    reasons,
    records,
    server_numbers,
)
from backscroll_sidecar.texts import Language

PARTS = (
    frame,
    chats,
    questions,
    reasons,
    contract_words,
    comparisons,
    records,
    server_numbers,
    errors,
)
TEXTS: Mapping[str, tuple[str, str]] = {
    key: pair for part in PARTS for key, pair in part.TEXTS.items()
}
"""By key: English, Chinese. No key stands in two parts."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts in one language."""

    language: Language

    def __call__(self, key: str, **values: object) -> str:
        """A text by its key, with what it holds; a key that is unknown is a fault of ours, save those of `maybe`."""
        english, chinese = TEXTS[key]
        text = chinese if self.language is Language.ZH else english
        return text.format(**values) if values else text

    def measured(self, value: str) -> str:
        """A number with its unit."""
        number, _, unit = value.partition(" ")
        return f"{number} {self.maybe(f'unit_{unit}', unit)}".rstrip()

    def maybe(self, key: str, otherwise: str = "") -> str:
        """The same, or something else where there is none: words of the contract may be an operator's own."""
        return self(key) if key in TEXTS else otherwise


def language_wanted(accepted: str) -> Language:
    """The first language of an Accept-Language header that there is, by weight; English without one."""
    found: list[tuple[float, int, Language]] = []
    for place, one in enumerate(accepted.split(",")[:50]):
        tag, _, weight = one.partition(";")
        main = tag.strip().lower().partition("-")[0]
        quality = _quality(weight)
        if main in {Language.EN.value, Language.ZH.value} and quality > 0:
            found.append((-quality, place, Language(main)))
    return min(found)[2] if found else Language.EN


def _quality(weight: str) -> float:
    name, _, value = weight.strip().partition("=")
    try:
        return float(value) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0
