"""Two ways to build one question. Pure."""

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "otherwise": ("What should be otherwise", "要改变什么"),
    "budget": ("token budget", "token 预算"),
    "sources": ("sources", "来源"),
    "weights_of_classic": ("Weights, of “classic” alone", "权重（仅用于 classic）"),
    "build_both": ("Build both", "构建两者"),
    "reset": ("Start over", "重新开始"),
    "original": ("Original", "原来"),
    "other": ("Otherwise", "改变后"),
    "came": ("came", "新增"),
    "went": ("went", "去掉"),
    "kept": ("kept", "保留"),
    "same_payload": ("The same payload, byte for byte.", "请求体逐字节相同。"),
    "no_candidate": ("no candidate", "不是候选"),
    "both_payloads": ("Both payloads", "两个请求体"),
    "as_sent": ("Download as sent", "下载原文"),
    "no_payload": ("There is no payload in this format.", "没有这种格式的请求体。"),
}  # fmt: skip
