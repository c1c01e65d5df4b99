"""Templates: everything escaped, in the reader's language."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from backscroll_sidecar.inspector import charts, numbers, what_if
from backscroll_sidecar.inspector.commands import Command
from backscroll_sidecar.inspector.explained import Fold, Reason
from backscroll_sidecar.inspector.page_texts import Texts
from backscroll_sidecar.inspector.question_fields import OTHER, Pairs
from backscroll_sidecar.inspector.said import shown
from backscroll_sidecar.inspector.visits import Page
from backscroll_sidecar.telemetry.panel_data import in_digits
from backscroll_sidecar.texts import Language


@dataclass(frozen=True, slots=True)
class Look:
    """How a page is wanted. `theme`: "light", "dark", or empty for what the browser prefers."""

    language: Language
    theme: str
    path: str
    query: Pairs
    has_token: bool


class Templates:
    """Draws pages. `root` is where they stand, `profiles` are what forms offer."""

    def __init__(self, folder: Path, root: str, profiles: Sequence[str], version: str) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(folder),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters.update(
            said=shown,
            age=numbers.age,
            moment=numbers.moment,
            score=numbers.score,
            signed=numbers.signed,
            count=in_digits,
            pretty=_pretty,
        )
        self._environment.tests["fold"] = lambda one: isinstance(one, Fold)
        self._environment.globals.update(
            root=root,
            profiles=profiles,
            version=version,
            terms=charts.terms,
            stacked=charts.stacked,
            link=partial(_link, root),
            other=OTHER,
            numbers=what_if.NUMBERS,
            weights=what_if.WEIGHT_NUMBERS,
            offered=what_if.OFFERED,
            bounds={one.name: one for one in (*what_if.NUMBERS, *what_if.WEIGHT_NUMBERS)},
        )

    def draw(self, page: Page, look: Look, commands: Sequence[Command]) -> str:
        """The page as HTML."""
        texts = Texts(look.language)
        return self._environment.get_template(page.template).render(
            **page.view,
            t=texts,
            reason=partial(_reason, texts),
            look=look,
            lang="zh-Hans" if look.language is Language.ZH else "en",
            title=page.title,
            in_channel=page.channel,
            commands=commands,
            json_link=_json_link(look),
        )


def _reason(texts: Texts, one: Reason) -> str:
    """Why a line is in or out, as a sentence."""
    values = {
        key: numbers.score(value) if isinstance(value, float) else value
        for key, value in one.values.items()
    }
    return texts(f"reason_{one.key}", **values) if values else texts(f"reason_{one.key}")


def _link(root: str, name: str, pairs: Iterable[tuple[str, str]] = (), **more: object) -> str:
    """The address of a page. Fields without a value are left out; `from_` stands for the field "from"."""
    own = [(key.rstrip("_"), str(value)) for key, value in more.items() if value not in {None, ""}]
    names = {key for key, _ in own}
    query = urlencode([(k, v) for k, v in pairs if k not in names] + own)
    return f"{root}/{name}" + (f"?{query}" if query else "")


def _json_link(look: Look) -> str:
    pairs = [(key, value) for key, value in look.query if key != "format"]
    return "?" + urlencode([*pairs, ("format", "json")])


def _pretty(body: str) -> str:
    """A JSON object with one field, and one item of a list, on a line, for reading."""
    fields = []
    for name, value in json.loads(body).items():
        told = json.dumps(value, ensure_ascii=False)
        if isinstance(value, list) and value:
            items = ",\n".join(f"    {json.dumps(one, ensure_ascii=False)}" for one in value)
            told = f"[\n{items}\n  ]"
        fields.append(f"  {json.dumps(name)}: {told}")
    return "{\n" + ",\n".join(fields) + "\n}"
