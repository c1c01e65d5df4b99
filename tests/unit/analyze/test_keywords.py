"""Keywords: S5-05."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

import backscroll_sidecar.analyze.keywords  # noqa: F401 - the name of the module is that of its function
from backscroll_sidecar.analyze import keywords, segmenter_name
from backscroll_sidecar.analyze.keywords import as_compared, identifiers, in_order
from tests.unit.analyze.texts import ANY_TEXT

MODULE = sys.modules["backscroll_sidecar.analyze.keywords"]
SAMPLES = [
    "my laptop won't boot after upgrading the kernel to 5.15",
    "那个红螺湖鸟岛景区的门票多少钱呀？",
    "edit /etc/apt/sources.list, see https://help.ubuntu.com/community/Repositories",
    "日本語とカタカナ 한국어 ภาษาไทย हिन्दी",
]


def overlap(one: str, other: str) -> float:
    a, b = set(keywords(one)), set(keywords(other))
    return len(a & b) / len(a | b)


@pytest.mark.parametrize("text", SAMPLES)
def test_the_same_list_twice(text):
    """S5-05: deterministic, with and without what is remembered of earlier texts."""
    first = keywords(text)
    MODULE._cached_expand.cache_clear()
    assert keywords(text) == first
    assert first


@given(ANY_TEXT)
def test_texts_without_links_need_no_look_for_them(text):
    """S5-05: the faster patterns find what the complete ones do."""
    text = text.lower().replace("/", " ").replace("www.", " ")
    assert MODULE._WORDS.findall(text) == MODULE._TOKEN.findall(text)
    if text.isascii():
        assert MODULE._ASCII_WORDS.findall(text) == MODULE._ASCII_TOKEN.findall(text)


def test_chinese_lines_meet_in_a_shared_word():
    """S5-05: Chinese overlap > 0 for a shared word, not only for equal lines."""
    assert overlap("北京大学的门票要预约吗", "门票免费，不过要提前预约") > 0
    assert overlap("猫喜欢喝牛奶", "今天下雨了") == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我们今天去北京大学看电影", ("今天", "北京", "大学", "北京大学", "电影")),
        ("Servers, server's and the server", ("server",)),
        ("installing installed installs", ("instal",)),
        ("Bob’s cats don't bite", ("bob", "cat", "bite")),
        ("upgrade to 10.04 or 10.10, v2.6.32-21", ("upgrad", "10.04", "10.10", "v2.6.32-21")),
        ("C++ and C# with node.js", ("c++", "c#", "node.js", "node", "js")),
        ("sources.list.", ("sources.list", "sourc", "list")),
        (
            "/etc/apt/sources.list",
            ("/etc/apt/sources.list", "etc", "apt", "sourc", "list"),
        ),
        ("~/.bashrc", ("~/.bashrc", "bashrc")),
        (
            "(see http://www.example.org/a-page?x=1).",
            ("see", "example.org", "example.org/a-page?x=1", "exampl", "org", "a-pag"),
        ),
        ("看www.example.org吧", ("example.org", "exampl", "org")),
        ("and/or", ()),
        ("ＦＵＬＬ　ｗｉｄｔｈ １０．０４", ("full", "width", "10.04")),
        ("カタカナの語", ("カタ", "タカ", "カナ", "語")),
        ("안녕하세요", ("안녕", "녕하", "하세", "세요")),
        ("café’s", ("café",)),
        ("CAFÉ naïve हिन्दी", ("café", "naïve", "हिन्दी")),
        ("🙂 ...!! -- '' ' -", ()),
        ("the 的 了 is 我们", ()),
        ("", ()),
    ],
)
def test_what_becomes_a_keyword(text, expected):
    assert keywords(text) == expected


def test_a_file_and_its_path_meet():
    assert overlap("what is in sources.list", "nano /etc/apt/sources.list") > 0


def test_a_blob_is_cut_short():
    assert keywords("q" * 100) == ("q" * 64,)
    whole, *parts = keywords("/srv/" + "q" * 100)
    assert len(whole) == 64
    assert parts == ["srv", "q" * 64]


def test_long_addresses_that_begin_alike_are_two():
    one, other = (f"https://example.org/{'a' * 60}/{end}" for end in ("first", "second"))
    (host, whole, *_), (_, another, *_) = keywords(one), keywords(other)
    assert host == "example.org"
    assert whole != another
    assert keywords(f"so {one}?")[1] == whole
    assert whole in identifiers(one, keywords(one))


def test_order_is_that_of_appearance_without_repeats():
    assert keywords("boot kernel boot 内核 kernel") == ("boot", "kernel", "内核")


@given(ANY_TEXT)
def test_any_text_gives_distinct_lower_case_words(text):
    words = keywords(text)
    assert keywords(text) == words
    assert len(set(words)) == len(words)
    assert all(word and word == word.lower() and not word.isspace() for word in words)
    assert all(len(word) <= MODULE.MAX_KEYWORD_CHARS for word in words if word.isascii())


@given(st.text(st.characters(max_codepoint=127)))
def test_the_fast_pattern_for_ascii_finds_what_the_general_one_finds(text):
    text = text.lower()
    assert MODULE._ASCII_TOKEN.findall(text) == MODULE._TOKEN.findall(text)


@given(st.lists(st.sampled_from([*SAMPLES, "门票", "boot", " ", "，"]), max_size=6))
def test_keywords_of_a_text_are_those_of_its_lines(lines):
    joined = dict.fromkeys(word for line in lines for word in keywords(line))
    assert keywords("\n".join(lines)) == tuple(joined)


def test_without_rjieba_chinese_is_cut_into_bigrams(monkeypatch):
    assert segmenter_name() == "rjieba"
    monkeypatch.setitem(sys.modules, "rjieba", None)
    MODULE._segmenter.cache_clear()
    MODULE._cached_expand.cache_clear()
    try:
        assert segmenter_name() == "bigrams"
        assert keywords("北京门票") == ("北京", "京门", "门票")
        assert overlap("门票多少钱", "门票免费") > 0
    finally:
        monkeypatch.undo()
        MODULE._segmenter.cache_clear()
        MODULE._cached_expand.cache_clear()
    assert segmenter_name() == "rjieba"


def test_threads_agree():
    texts = [f"{sample} {i}" for i in range(100) for sample in SAMPLES]
    alone = [keywords(text) for text in texts]
    MODULE._cached_expand.cache_clear()
    with ThreadPoolExecutor(4) as pool:
        for together in [pool.map(keywords, texts) for _ in range(4)]:
            assert list(together) == alone


@pytest.mark.parametrize(
    "unit", ["a.", "a/", "/a", "~/", "'-", "s/", "www.", "门", "あ", "a\u0300", "1."]
)
def test_a_long_hostile_text_takes_linear_time(unit):
    """64 KiB are analysed in milliseconds; a pattern that backtracks would take seconds."""
    text = unit * (65_536 // len(unit.encode()))
    start = time.process_time()
    keywords(text)
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://wiki.example.org/a/b now", {"wiki.example.org/a/b"}),
        ("rm /var/lib/dpkg/lock", {"/var/lib/dpkg/lock"}), ("又弹 0xC0000142 了", {"0xc0000142"}),
        ("v3.18.2 在哪里", {"v3.18.2"}), ("the commit 4be1f7c29d", {"4be1f7c29d"}),
        ("max_wal_senders and retryWithBackoff", {"max_wal_send", "retrywithbackoff"}), ("ORA-01555", {"ora-01555"}),
        ("又报 connection reset by peer", {"connect", "reset", "peer"}),
        ("open says EACCES!", {"eacc"}), ("SIGSEGV, again", {"sigsegv"}), ("又报 EACCES", {"eacc"}),
        ("why HTTP_404 here", {"http_404"}), ("PLEASE HELP with that", set()), ("it is NOT GOING to work", set()),
        ("THANKS", set()), ("the USA", set()),
        ("ext3 in 2008, Sunday at 10", set()), ("a plain line. Another one", set()), ("今天去哪儿？", set()),
    ],
)  # fmt: skip
def test_what_is_an_identifier(text, expected):
    assert identifiers(text, keywords(text)) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Ping:  Temporary failure in name\nresolution", ["ping", "temporary", "failure", "name", "resolution"]),
        ("the apt-get's broken", ["apt-get's", "broken"]), ("一连就提示连接被拒绝", ["一连", "提示", "连接", "拒绝"]),
        ("又说内存不足", ["内存", "不足"]), ("数据库超时", ["数据库", "超时"]), ("カタカナ", ["カタ", "カナ"]),
        ("see https://a.example/b ＦＵＬＬ", ["see", "https://a.example/b", "full"]), ("is the 的 了", []), ("", []),
    ],
)  # fmt: skip
def test_words_in_the_order_of_the_text(text, words):
    said, found = in_order(text)
    assert said == as_compared(text)
    assert [said[begin:end] for _, begin, end in found] == words


@given(st.text())
def test_words_in_order_are_keywords_and_do_not_overlap(text):
    said, found = in_order(text)
    assert {word for word, _, _ in found} <= set(keywords(text))
    ends = [0, *(place for _, begin, end in found for place in (begin, end)), len(said)]
    assert ends == sorted(ends)
