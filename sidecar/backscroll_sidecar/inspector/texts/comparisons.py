"""Two ways to build one question. Pure."""

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "otherwise": ("What should be otherwise", "要改变什么"),
    "budget": ("token budget", "token 预算"),
    "sources": ("sources", "来源"),
    "weights_of_classic": ("Weights, of “classic” alone", "权重（仅用于 classic）"),
    "as_before": ("the same: {profile}", "不变：{profile}"),
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
    "note_same_profile": ("Both are built with the profile “{profile}”.", "两者都用 profile“{profile}”构建。"),
    "note_foreign_weights": (
        "“{profile}” has no factors {names}: weights of theirs change nothing. They count in “classic”.",
        "“{profile}”没有 {names} 这些因素，改变它们的权重没有作用；权重只在 classic 中有效。",
    ),
    "note_silent_weight": (
        "No candidate has anything of “{name}” here, so its weight changes no score.",
        "这里没有任何候选含有“{name}”，改变它的权重不影响得分。",
    ),
    "note_nothing_lost": (
        "No line was lost to this bound, before or after: changing “{field}” changes no line here.",
        "改变前后都没有行因它而落选：在这里改变“{field}”不影响任何一行。",
    ),
}  # fmt: skip
