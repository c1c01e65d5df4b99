"""Every text of a page is there in both languages, and every text that is there is on a page."""

import re
import string
from pathlib import Path

import pytest

import backscroll_sidecar.inspector as room
from backscroll.v1 import context_pb2, experiment_pb2, feedback_pb2
from backscroll_sidecar.errors import Reason
from backscroll_sidecar.inspector.explained import FATE_OF, KEPT_BY, SOURCE_OF
from backscroll_sidecar.inspector.page_texts import PARTS, TEXTS, Texts, language_wanted
from backscroll_sidecar.inspector.refusals import OWN_REASONS, STATUS
from backscroll_sidecar.inspector.what_if import NUMBERS
from backscroll_sidecar.telemetry.catalogue import CATALOGUE
from backscroll_sidecar.telemetry.panels import PANELS
from backscroll_sidecar.texts import Language

HERE = Path(room.__file__).parent
TEMPLATES = {file.name: file.read_text("utf-8") for file in (HERE / "templates").glob("*.html")}
USED = set(re.findall(r"""\bt\(\s*["'](\w+)["']\s*[,)]""", "\n".join(TEMPLATES.values())))
MADE = set(
    re.findall(r"""\bt(?:\.maybe)?\(\s*\(?["'](\w+_)["'] ~""", "\n".join(TEMPLATES.values()))
)
HAN = re.compile(r"[\u3400-\u9fff]")
SAME_IN_BOTH = {"profile", "policy", "tokens", "measure_tokens", "of"}


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_no_text_stands_in_two_parts() -> None:
    assert sum(len(part.TEXTS) for part in PARTS) == len(TEXTS)


def test_every_text_that_a_template_names_is_there() -> None:
    assert TEMPLATES
    assert not USED - TEXTS.keys()


def test_every_text_is_on_a_page() -> None:
    others = {"reason_", "title_", "unit_", "error"}
    labels = {one.label for one in NUMBERS}
    unused = {
        key
        for key in TEXTS.keys() - USED - labels
        if not any(key.startswith(prefix) for prefix in MADE | others)
        and not re.search(rf"""["']{key}["']""", "\n".join(TEMPLATES.values()))
    }
    assert not unused


@pytest.mark.parametrize("key", sorted(TEXTS))
def test_both_languages_hold_the_same(key: str) -> None:
    english, chinese = TEXTS[key]
    assert english.strip() == english != ""
    assert chinese.strip() == chinese != ""
    assert fields(english) == fields(chinese)
    assert not HAN.search(english)
    assert HAN.search(chinese) or key in SAME_IN_BOTH or fields(chinese)


def test_what_the_contract_can_say_has_its_text() -> None:
    wanted = {f"fate_{one}" for one in FATE_OF.values()}
    wanted |= {
        f"reason_lost_{one}" for one in FATE_OF.values() if one not in {"unspecified", "selected"}
    }
    wanted |= {f"reason_taken_{one}" for one in KEPT_BY} | {f"decided_{one}" for one in KEPT_BY}
    wanted |= {f"source_{one}" for one in SOURCE_OF.values() if one not in {"unspecified", "own"}}
    wanted |= {f"rung_{one[5:].lower()}" for one in context_pb2.Rung.keys()[1:]}
    wanted |= {f"state_{one[17:].lower()}" for one in experiment_pb2.ExperimentState.keys()[1:]}
    wanted |= {f"signal_{one[12:].lower()}" for one in feedback_pb2.SignalKind.keys()[1:]}
    wanted |= {f"panel_{one.name}" for one in PANELS} | {f"panel_says_{one.name}" for one in PANELS}
    units = {one.unit for one in (*PANELS, *CATALOGUE)} - {"s", "ms", "1", "score"}
    wanted |= {f"unit_{one}" for one in units}
    wanted |= {f"why_{one}" for one in (*Reason, *OWN_REASONS)}
    wanted |= {f"error_{code.name}" for code in STATUS}
    tokens = [field.name for field in context_pb2.TokenCounts.DESCRIPTOR.fields]
    wanted |= {
        f"part_{one}"
        for one in tokens
        if one not in {"total", "budget", "tokenizer", "calibration"}
    }
    assert not wanted - TEXTS.keys()


def test_a_panel_says_in_english_what_it_says_elsewhere() -> None:
    for panel in PANELS:
        assert TEXTS[f"panel_{panel.name}"][0] == panel.title
        assert TEXTS[f"panel_says_{panel.name}"][0] == panel.says


def test_words_that_are_an_operator_s_own_stand_as_they_are() -> None:
    assert Texts(Language.ZH).maybe("source_mine", "mine") == "mine"
    assert Texts(Language.ZH)("folded", count=3) == "另有 3 行未入选"


def test_the_language_with_most_weight_wins() -> None:
    assert language_wanted("en;q=0.2, zh;q=0.9") is Language.ZH
    assert language_wanted("de, fr;q=0.5") is Language.EN
    assert language_wanted("," * 10_000) is Language.EN


def test_a_number_has_its_unit_in_the_reader_s_language() -> None:
    english, chinese = Texts(Language.EN), Texts(Language.ZH)
    assert english.measured("5 messages") == "5 messages"
    assert chinese.measured("5 messages") == "5 条消息"
    assert chinese.measured("1.2 ms") == "1.2 ms"
    assert chinese.measured("40.0%") == "40.0%"
    assert chinese.measured("") == ""
