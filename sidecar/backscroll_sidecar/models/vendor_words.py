"""What vendors call the end of an answer and the refusal of a filter: docs/reference/model-words.md. Pure.

Words are compared in any case, with any signs between their parts: ``MAX_TOKENS``, ``maxTokens``,
``FinishReason.MAX_TOKENS``.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import orjson

from backscroll_sidecar.ports import FinishReason, ModelFault

MAX_WORD_CHARS = 64
"""Most characters that are kept of a vendor's own word."""
MAX_SENTENCE_CHARS = 512
"""How far a vendor's sentence is looked at: behind that it may repeat what it was sent."""

End = FinishReason | ModelFault
"""What a finish reason means: an ending, or a failure."""


@dataclass(frozen=True, slots=True)
class FinishWords:
    """Finish reasons that mean the same, and who writes them."""

    end: End
    who: str
    words: tuple[str, ...]


FINISH_TABLE = (
    FinishWords(FinishReason.STOP, "OpenAI and most others", ("stop",)),
    FinishWords(FinishReason.STOP, "Gemini behind gateways", ("STOP", "FINISH_REASON_STOP")),
    FinishWords(FinishReason.STOP, "Anthropic, Bedrock, xAI", ("end_turn", "stop_sequence")),
    FinishWords(FinishReason.STOP, "Together, TGI, watsonx", ("eos", "eos_token", "end_of_text", "endoftext")),
    FinishWords(FinishReason.STOP, "Cohere", ("COMPLETE", "STOP_SEQUENCE")),
    FinishWords(FinishReason.STOP, "Baidu", ("normal",)),
    FinishWords(FinishReason.STOP, "others", ("completed", "done", "finish", "finished", "stop_token")),
    FinishWords(FinishReason.LENGTH, "OpenAI and most others", ("length",)),
    FinishWords(FinishReason.LENGTH, "Anthropic, Gemini, Bedrock, Cohere", ("max_tokens", "MAX_TOKENS")),
    FinishWords(FinishReason.LENGTH, "Mistral", ("model_length",)),
    FinishWords(FinishReason.LENGTH, "Anthropic, Bedrock, Zhipu", ("model_context_window_exceeded",)),
    FinishWords(FinishReason.LENGTH, "watsonx, SenseNova", ("token_limit", "context")),
    FinishWords(FinishReason.LENGTH, "others", (
        "max_length", "max_output_tokens", "max_new_tokens", "context_length_exceeded",
    )),
    FinishWords(FinishReason.CONTENT_FILTER, "OpenAI, Azure, Moonshot, DeepSeek", ("content_filter",)),
    FinishWords(FinishReason.CONTENT_FILTER, "Gemini", (
        "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "content_filter: RECITATION",
        "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR",
    )),
    FinishWords(FinishReason.CONTENT_FILTER, "Zhipu, Tencent, SenseNova", ("sensitive",)),
    FinishWords(FinishReason.CONTENT_FILTER, "Anthropic", ("refusal",)),
    FinishWords(FinishReason.CONTENT_FILTER, "Bedrock", ("content_filtered", "guardrail_intervened")),
    FinishWords(FinishReason.CONTENT_FILTER, "Cohere", ("ERROR_TOXIC",)),
    FinishWords(FinishReason.TOOL_CALLS, "OpenAI and most others", ("tool_calls", "function_call")),
    FinishWords(FinishReason.TOOL_CALLS, "Anthropic, Bedrock, Cohere", ("tool_use", "tool_call", "TOOL_CALL")),
    FinishWords(FinishReason.INTERRUPTED, "vLLM, SGLang", ("abort",)),
    FinishWords(FinishReason.INTERRUPTED, "Cohere, watsonx, others", (
        "USER_CANCEL", "aborted", "cancel", "cancelled", "canceled", "interrupted", "time_limit", "timeout",
    )),
    FinishWords(ModelFault.SERVER_ERROR, "Mistral, OpenRouter, Cohere", ("error", "ERROR", "ERROR_LIMIT", "failed")),
    FinishWords(ModelFault.SERVER_ERROR, "DeepSeek", ("insufficient_system_resource",)),
    FinishWords(ModelFault.SERVER_ERROR, "Zhipu", ("network_error",)),
    FinishWords(ModelFault.BAD_RESPONSE, "Gemini", (
        "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE",
    )),
    FinishWords(ModelFault.BAD_RESPONSE, "Bedrock", ("malformed_model_output", "malformed_tool_use")),
    FinishWords(FinishReason.NONE, "DashScope, Gemini, others: not finished yet", (
        "null", "none", "not_finished", "in_progress", "FINISH_REASON_UNSPECIFIED",
    )),
)  # fmt: skip
"""Any other word is UNKNOWN: the answer counts as complete, and the word is told."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """How a vendor says that its filter refused: by a word of its error, by a number, or by a sentence alone."""

    who: str
    words: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()


REFUSAL_TABLE = (
    Refusal("OpenAI, Azure", ("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation",
                              "moderation_blocked"),
            sentences=("content management policy", "rejected as a result of our safety system")),
    Refusal("Anthropic", sentences=("blocked by content filtering policy",)),
    Refusal("Gemini", ("PROHIBITED_CONTENT", "SAFETY", "BLOCKLIST")),
    Refusal("xAI", sentences=("content violates usage guidelines",)),
    Refusal("OpenRouter", ("flagged_input",), sentences=("requires moderation",)),
    Refusal("Alibaba DashScope", ("data_inspection_failed", "DataInspectionFailed"),
            sentences=("data may contain inappropriate content",)),
    Refusal("Zhipu", numbers=("1301",), sentences=("不安全或敏感内容",)),
    Refusal("MiniMax", numbers=("1026", "1027"), sentences=("new_sensitive",)),
    Refusal("Volcengine", ("SensitiveContentDetected", "InputTextSensitiveContentDetected",
                           "OutputTextSensitiveContentDetected", "InputTextRiskDetection", "OutputTextRiskDetection")),
    Refusal("Moonshot, Xiaomi", ("content_filter",), ("421",), ("considered high risk",)),
    Refusal("DeepSeek", sentences=("content exists risk",)),
    Refusal("StepFun", ("censorship_blocked",), ("451",), ("you provided or machine outputted is blocked",)),
    Refusal("iFlytek Spark", numbers=("10013", "10014", "10019"), sentences=("审核不通过", "违规信息")),
    Refusal("Baidu, Tencent and others", ("content_security", "sensitive", "moderation"),
            sentences=("敏感内容", "敏感信息", "敏感词", "违规内容", "内容安全")),
    Refusal("UCloud", ("sensitive_check_error",), ("invalid_messages",)),
)  # fmt: skip
"""A word counts alone, and as a part of a longer one. A number means something else elsewhere: it counts beside a
sentence that speaks of what was said."""


_ABOUT_CONTENT = re.compile(
    r"敏感|违规|不安全|审核|sensitive|inappropriate|unsafe|moderat|risk|blocked|violat|censor|违禁",
    re.IGNORECASE,
)
_NO_LETTER = re.compile(r"[^a-z0-9]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def _plain(word: str) -> str:
    """``FinishReason.MAX_TOKENS``, ``maxTokens``, ``max-tokens``: ``max_tokens``."""
    last = word.strip().rpartition("FinishReason.")[2]
    name = _NO_LETTER.sub("_", _HUMP.sub("_", last).lower()).strip("_")
    return name.removeprefix("finish_reason_") or name


_ENDS: Mapping[str, End] = {_plain(word): line.end for line in FINISH_TABLE for word in line.words}
_WORDS = tuple(sorted({_plain(word) for line in REFUSAL_TABLE for word in line.words}))
_NUMBERS = frozenset(number for line in REFUSAL_TABLE for number in line.numbers)
_FLAGS = next(line.numbers for line in REFUSAL_TABLE if line.who == "MiniMax")
_SENTENCES = tuple(sentence for line in REFUSAL_TABLE for sentence in line.sentences)
# The filter failed. ("safety" and the like are whole words only, or parts with others around them.)
_NOT_REFUSED = ("content_filter_error", "content_security_detection_error")

_CODES = ("code", "type", "status", "reason", "error_code", "status_code", "blockReason")
_TEXTS = ("message", "msg", "error_msg", "status_msg", "error", "param")
_INNER = ("error", "innererror", "metadata", "base_resp", "promptFeedback", "raw")
_MAX_DEPTH = 8


def end_of(word: str) -> End:
    """What a finish reason means; UNKNOWN for one that stands in no table, NONE for one that says nothing."""
    name = _plain(word)
    if not name:
        return FinishReason.NONE if not word.strip() else FinishReason.UNKNOWN
    if name.startswith("content_filter"):
        return FinishReason.CONTENT_FILTER
    return _ENDS.get(name, FinishReason.UNKNOWN)


def is_refusal(body: object) -> bool:
    """Whether an error says that the vendor's filter refused what it was sent, or what the model said."""
    return any(_says_so(one) for one in _errors(body))


def is_flagged(chunk: Mapping[str, object]) -> bool:
    """Whether the end of an answer says beside its reason that the vendor's filter took it, as MiniMax does."""
    base = chunk.get("base_resp")
    if not isinstance(base, Mapping):
        return False
    return str(base.get("status_code")) in _FLAGS or _says_so(base)


def _says_so(error: Mapping[str, object] | str) -> bool:
    if isinstance(error, str):
        return _is_told(error, ())
    if "flagged_input" in error:
        return True
    codes = [str(one) for one in map(error.get, _CODES) if isinstance(one, str | int)]
    texts = [one for one in map(error.get, _TEXTS) if isinstance(one, str)]
    names = [_plain(code[:MAX_SENTENCE_CHARS]) for code in codes]
    if any(word in name for name in names if name not in _NOT_REFUSED for word in _WORDS):
        return True
    return _is_told(" ".join(text[:MAX_SENTENCE_CHARS] for text in texts), codes)


def _is_told(text: str, codes: list[str] | tuple[()]) -> bool:
    said = text[: 2 * MAX_SENTENCE_CHARS].lower()
    if any(sentence in said for sentence in _SENTENCES):
        return True
    return not _NUMBERS.isdisjoint(codes) and _ABOUT_CONTENT.search(said) is not None


def _errors(body: object, depth: int = 0) -> Iterator[Mapping[str, object] | str]:
    """The error, and those it wraps: gateways put a vendor's own into theirs, as an object or as JSON in a text."""
    if isinstance(body, str):
        if body.lstrip().startswith("{"):
            try:
                body = orjson.loads(body)
            except ValueError:
                return
        else:
            yield body
    if isinstance(body, Mapping) and depth < _MAX_DEPTH:
        yield body
        for name in _INNER:
            yield from _errors(body.get(name), depth + 1)
