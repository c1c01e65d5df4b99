"""Every text the server adds, in each of its languages. Pure.

Marks belong to the format of a line and are the same in every language: ``User:``, ``[bot]``, ``[image: …]``, ``…``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

from backscroll_sidecar.scripts import HAN


class Language(StrEnum):
    """In which language the server adds texts. AUTO: the question's, by its script, else English."""

    AUTO = "auto"
    EN = "en"
    ZH = "zh"


_MONTH_FIRST = frozenset(("", "US", "AS", "BI", "GU", "MH", "MP", "PH", "PR", "UM", "VI"))
"""Where English writes the month before the day, in the short dates of CLDR; without a region it is of the US."""
_DAY_FIRST_ZH = frozenset(("HK", "MO", "SG"))
"""Where Chinese writes the day before the month, in the short dates of CLDR; elsewhere year, month, day."""


class LanguageTag(NamedTuple):
    """A language and the region that its tag names: of "en-GB" in capitals, empty without one."""

    language: Language
    region: str = ""

    @property
    def is_day_first(self) -> bool:
        """Whether 01/02/2024 is the first of February."""
        if self.language is Language.ZH:
            return self.region in _DAY_FIRST_ZH
        return self.language is Language.EN and self.region not in _MONTH_FIRST


class Wording(StrEnum):
    """NEUTRAL words follow the language; DESIGNS are exact, whatever the language."""

    NEUTRAL = "neutral"
    DESIGNS = "designs"


@dataclass(frozen=True, slots=True)
class Texts:
    """All texts in one language. `day_ago` and the like: of one and of several, with ``{n}`` for the number.

    `shortened_mark` stands behind what a model is sent of a result, `cut_mark` behind what a row holds of a text.
    `faults`: what went wrong with a model call, each with the English sentence for it before it, the longest first;
    others stay English.
    """

    language: Language
    recent_title: str
    semantic_title: str
    summary_title: str
    preferences_label: str
    catch_up_title: str
    catch_up_question: str
    said_since: str
    names_separator: str
    nothing_since: str
    question_label: str
    no_text: str
    instruction: str
    shortened_mark: str
    cut_mark: str
    echo_notice: str
    refused_model_notice: str
    length_notice: str
    content_filter_notice: str
    error_prefix: str
    just_now: str
    day_ago: tuple[str, str]
    hour_ago: tuple[str, str]
    minute_ago: tuple[str, str]
    faults: tuple[tuple[str, str], ...] = ()

    def fault(self, reason: str) -> str:
        """What is said of a failed model call; names in it stay."""
        for sentence, own in self.faults:
            reason = reason.replace(sentence, own)
        return reason


FAULTS: Mapping[str, tuple[str, str]] = {
    "loading": ("the model is still loading", "模型仍在加载"),
    "rate_limited": ("the model has too many requests at the moment", "模型目前请求过多"),
    "rejected": ("the model refused the request", "模型拒绝了这个请求"),
    "unauthorized": ("the model refused the server's credentials", "模型拒绝了服务器的凭据"),
    "server_error": ("the model's server failed", "模型的服务器出错"),
    "timeout": ("the model did not answer in time", "模型没有及时回答"),
    "connection": ("the connection to the model failed", "与模型的连接失败"),
    "bad_response": ("the model's answer could not be read", "无法读取模型的回答"),
    "context_length_exceeded": ("the request is too long for the model", "请求对模型来说太长"),
    "content_filter": ("the model refused the request because of its content", "模型因内容拒绝了这个请求"),
    "insufficient_quota": ("the model's quota is used up", "模型的额度已用完"),
    "model_not_found": ("the model does not exist", "模型不存在"),
    "internal": ("the server failed", "服务器出错"),
    "no_answer": ("the model sent no answer", "模型没有给出回答"),
    "only_thoughts": ("the model's answer ended inside its thoughts", "模型的回答在思考过程中就结束了"),
    "cut_call": ("the model's answer ended inside a tool call", "模型的回答在工具调用中途结束了"),
    "answer_too_large": ("the model's answer is too large", "模型的回答过大"),
    "calls_too_large": ("the model's tool calls are too large", "模型的工具调用过大"),
    "unknown_tools": ("the model asked for tools it was not given", "模型调用了没有提供给它的工具"),
    "stream_options": (
        "BACKSCROLL_MODEL_STREAM_OPTIONS=false leaves stream_options out",
        "设置 BACKSCROLL_MODEL_STREAM_OPTIONS=false 就不再发送 stream_options",
    ),
    "thoughts": (
        "thoughts of the model were sent back to it, as other models want it",
        "模型的思考内容被发回给了它，有的模型要求这样做",
    ),
    "temperature": (
        "BACKSCROLL_TEMPERATURE=none sends no temperature",
        "设置 BACKSCROLL_TEMPERATURE=none 就不再发送 temperature",
    ),
    "max_tokens": (
        "BACKSCROLL_MODEL_MAX_TOKENS_FIELD=max_completion_tokens sends the limit under the newer name",
        "设置 BACKSCROLL_MODEL_MAX_TOKENS_FIELD=max_completion_tokens 就用新字段名发送上限",
    ),
}  # fmt: skip
"""What went wrong with a model call, by the fault's name or a vendor's code, and what to do about a field that a vendor
refuses, by its name; in English and in Chinese."""

REDACTED: Mapping[str, tuple[str, str]] = {
    "email": ("[email]", "[邮箱]"),
    "phone": ("[phone number]", "[电话号码]"),
    "card": ("[card number]", "[卡号]"),
    "id_number": ("[ID number]", "[证件号码]"),
    "secret": ("[secret]", "[密钥]"),
}
"""What stands in a stored text where something may not be stored, by its kind; in English and in Chinese."""

PREFERENCE_SENTENCES: Mapping[str, tuple[str, str]] = {
    "name": ("The user wants to be called {value}.", "用户希望被称呼为{value}。"),
    "not_called": ("The user does not want to be called {value}.", "用户不希望被叫作{value}。"),
    "language": ("The user wants answers in {value}.", "用户希望用{value}回答。"),
    "tone": ("The user likes a {value} tone.", "用户喜欢{value}的语气。"),
    "length": ("The user likes {value} answers.", "用户喜欢{value}的回答。"),
    "time_zone": ("The user's time zone is {value}.", "用户的时区是{value}。"),
    "place": ("The user lives in {value}.", "用户住在{value}。"),
    "work": ("The user's work: {value}.", "用户的工作：{value}。"),
    "project": ("The user's project: {value}.", "用户的项目：{value}。"),
    "birthday": ("The user's birthday is {value}.", "用户的生日是{value}。"),
    "diet": ("The user's diet: {value}.", "用户的饮食：{value}。"),
    "likes": ("The user likes {value}.", "用户偏好{value}。"),
    "dislikes": ("The user does not like {value}.", "用户不喜欢{value}。"),
    "": ("The user's {topic}: {value}.", "用户的{topic}：{value}。"),
}
"""How a preference without a text of its own is told, by topic; in English and in Chinese."""

PREFERENCE_VALUES: Mapping[tuple[str, str], tuple[str, str]] = {
    ("tone", "formal"): ("formal", "正式"),
    ("tone", "casual"): ("casual", "轻松随意"),
    ("tone", "direct"): ("direct", "直接"),
    ("tone", "friendly"): ("friendly", "亲切友好"),
    ("tone", "humorous"): ("humorous", "幽默"),
    ("length", "short"): ("short", "简短"),
    ("length", "detailed"): ("detailed", "详细"),
    ("language", "en"): ("English", "英文"),
    ("language", "zh"): ("Chinese", "中文"),
    ("language", "yue"): ("Cantonese", "粤语"),
    ("language", "ja"): ("Japanese", "日语"),
    ("language", "ko"): ("Korean", "韩语"),
    ("language", "de"): ("German", "德语"),
    ("language", "fr"): ("French", "法语"),
    ("language", "es"): ("Spanish", "西班牙语"),
    ("language", "pt"): ("Portuguese", "葡萄牙语"),
    ("language", "it"): ("Italian", "意大利语"),
    ("language", "ru"): ("Russian", "俄语"),
}
"""What values that have one form are called in a sentence, by topic and value; others are told as they are."""

ENGLISH = Texts(
    language=Language.EN,
    recent_title="Conversation (recent):",
    semantic_title="Relevant reference (semantic):",
    summary_title="Summary of the conversation before:",
    preferences_label="User Preferences: ",
    catch_up_title="What happened since:",
    catch_up_question="What did I miss since then?",
    said_since="Since {since} there were {messages} messages by {people} people ({names}). What matters most of them "
    "stands below.",
    names_separator=", ",
    nothing_since="Nothing was said since {since}.",
    question_label="Question: ",
    no_text="(no text)",
    instruction="You are a helpful assistant. Answer in plain text, without Markdown or other formatting marks.",
    shortened_mark="… [shortened]",
    cut_mark="… [cut]",
    echo_notice="[echo: no model is configured, this is your question] ",
    refused_model_notice="[echo: the model is configured wrongly, the server's log says how, this is your question] ",
    length_notice="(cut off at the model's limit)",
    content_filter_notice="(stopped by the model's provider)",
    error_prefix="The answer failed: ",
    just_now="just now",
    day_ago=("{n} day ago", "{n} days ago"),
    hour_ago=("{n} hour ago", "{n} hours ago"),
    minute_ago=("{n} minute ago", "{n} minutes ago"),
)  # fmt: skip
CHINESE = Texts(
    language=Language.ZH,
    recent_title="最近的对话:",
    semantic_title="相关内容 (语义检索):",
    summary_title="此前对话的摘要:",
    preferences_label="用户偏好: ",
    catch_up_title="此后发生的事:",
    catch_up_question="在那之后我错过了什么？",
    said_since="自 {since} 以来，{people} 人共发了 {messages} 条消息（{names}）。以下是其中最重要的内容。",
    names_separator="、",
    nothing_since="自 {since} 以来没有新消息。",
    question_label="用户提问: ",
    no_text="(无文字)",
    instruction="你是一个有用的助手。请用纯文本回答，不要使用 Markdown 或其他格式标记。",
    shortened_mark="… [已缩短]",
    cut_mark="… [已截断]",
    echo_notice="[echo: 没有配置模型，以下是你的问题] ",
    refused_model_notice="[echo: 模型的配置有误，原因见服务器日志，以下是你的问题] ",
    length_notice="(后续内容被截断)",
    content_filter_notice="(模型服务方中止了这个回答)",
    error_prefix="回答失败: ",
    just_now="刚刚",
    day_ago=("{n} 天前", "{n} 天前"),
    hour_ago=("{n} 小时前", "{n} 小时前"),
    minute_ago=("{n} 分钟前", "{n} 分钟前"),
    faults=tuple(sorted(FAULTS.values(), key=lambda one: -len(one[0]))),
)  # fmt: skip
DESIGNS = replace(
    ENGLISH,
    question_label="用户提问: ",
    instruction="你是一个有用的助手，用中文回答问题。不要使用Markdown格式，不要使用任何格式化符号"
    "（如*、_、`、#等），输出纯文本，适合Telegram消息。",
    length_notice="(后续内容被截断)",
    content_filter_notice="赤尾有点不想讨论这个话题呢~",
    error_prefix="生成回复时出现错误: ",
)
"""The exact words of the original designs, whatever the language."""
EVERY = (ENGLISH, CHINESE, DESIGNS)

_HAN = re.compile(f"[{HAN}]")
_OTHER_WORDS = re.compile(rf"[^\W\d_{HAN}]+")
_NO_LANGUAGE = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`"
    r"|(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,15}://[\x21-\x7e]+|www\.[\x21-\x7e]+"
    r"|(?<!\w)[@/!][\w.-]+",
    re.DOTALL | re.IGNORECASE | re.ASCII,
)
_NOT_CHINESE = re.compile("[\u3040-\u30ff\uac00-\ud7af]")


def language_of(question: str) -> Language:
    """ZH where there are as many Chinese characters as other words, and nothing is Japanese or Korean; else EN.

    Addresses, names that are called, commands and code are in no language.
    """
    if question.isascii() or _NOT_CHINESE.search(question):
        return Language.EN
    said = _NO_LANGUAGE.sub(" ", question)
    han = len(_HAN.findall(said))
    return Language.ZH if han and han >= len(_OTHER_WORDS.findall(said)) else Language.EN


@dataclass(frozen=True, slots=True)
class Wordings:
    """The texts of a server: those of English and of Chinese, and which are taken where a request leaves it open."""

    english: Texts = ENGLISH
    chinese: Texts = CHINESE
    default: Language = Language.AUTO

    def of(self, language: Language | None, question: str) -> Texts:
        """The texts for a question."""
        wanted = language or self.default
        return self.by_language(language_of(question) if wanted is Language.AUTO else wanted)

    def by_language(self, language: Language) -> Texts:
        """Those of one language."""
        return self.chinese if language is Language.ZH else self.english


NEUTRAL = Wordings()
TITLES = tuple(
    dict.fromkeys(
        title.strip().removesuffix(":")
        for texts in EVERY
        for title in (
            texts.recent_title,
            texts.semantic_title,
            texts.summary_title,
            texts.preferences_label,
            texts.catch_up_title,
        )
    )
)
"""What the sections of a context begin with, without the colon: nobody's text may begin a line so."""

TIMES = tuple(
    dict.fromkeys(
        form
        for texts in EVERY
        for form in (*texts.day_ago, *texts.hour_ago, *texts.minute_ago, texts.just_now)
    )
)
"""How long ago something was, with ``{n}`` for the number: nobody may type it as a mark."""


def wordings_of(wording: Wording, language: Language, **own: str | None) -> Wordings:
    """The texts of a server; `own` ones, by the name of their field, stand in every language."""
    given: dict[str, Any] = {name: text for name, text in own.items() if text is not None}
    if wording is Wording.DESIGNS:
        return Wordings(
            replace(DESIGNS, **given),
            replace(DESIGNS, language=Language.ZH, **given),
            language,
        )
    return Wordings(replace(ENGLISH, **given), replace(CHINESE, **given), language)
