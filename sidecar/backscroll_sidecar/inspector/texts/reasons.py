"""Why a line is in or out. Pure."""

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "fate_selected": ("taken", "入选"),
    "fate_threshold": ("threshold", "低于阈值"),
    "fate_limit": ("limit", "超出条数"),
    "fate_budget": ("budget", "超出预算"),
    "fate_duplicate": ("duplicate", "重复"),
    "fate_diversity": ("too similar", "过于相似"),
    "fate_visibility": ("not visible", "不可见"),
    "fate_recalled": ("taken back", "已撤回"),
    "fate_unspecified": ("no candidate", "不是候选"),
    "decided_pinned": ("pinned", "已置顶"),
    "decided_chain": ("reply chain", "回复链"),
    "decided_floor": ("newest", "最新"),
    "decided_round": ("tool round", "工具轮次"),
    "decided_exploration": ("drawn", "抽中"),
    "reason_taken_score": ("Taken: place {rank} of the ranking, by {by}.", "入选：按 {by} 排名第 {rank}。"),
    "reason_taken_pinned": ("Taken: it is pinned in the channel.", "入选：已在频道中置顶。"),
    "reason_taken_chain": (
        "Taken: the question replies to it, or to what does.",
        "入选：提问直接或间接回复了它。",
    ),
    "reason_taken_floor": ("Taken: it is among the newest.", "入选：属于最新的几行。"),
    "reason_taken_round": ("Taken: a tool call with its results.", "入选：工具调用及其结果。"),
    "reason_taken_exploration": ("Taken: its place was drawn.", "入选：它的位置是抽签得到的。"),
    "reason_lost_threshold": (
        "Left out: score {score} is below the threshold {threshold}.",
        "未入选：得分 {score} 低于阈值 {threshold}。",
    ),
    "reason_lost_limit": (
        "Left out: {taken} better ones were there; {missing} was missing to the last of them.",
        "未入选：已有 {taken} 行更好；与其中最后一行相差 {missing}。",
    ),
    "reason_lost_limit_full": (
        "Left out: {taken} that rank before it were there.",
        "未入选：已有 {taken} 行排在它前面。",
    ),
    "reason_lost_budget": (
        "Left out: it takes some {tokens} tokens, and {free} were left.",
        "未入选：它约需 {tokens} token，只剩 {free}。",
    ),
    "reason_lost_duplicate": (
        "Left out: the same text by the same author is already in.",
        "未入选：同一作者的相同内容已入选。",
    ),
    "reason_lost_duplicate_of": (
        "Left out: the same text by the same author is already in, at place {rank}.",
        "未入选：同一作者的相同内容已入选，排名第 {rank}。",
    ),
    "reason_lost_diversity": ("Left out: something too similar is already in.", "未入选：已有过于相似的内容。"),
    "reason_lost_visibility": ("Left out: the asker could not see it.", "未入选：提问者看不到它。"),
    "reason_lost_recalled": ("Left out: it was taken back.", "未入选：它已被撤回。"),
    "reason_lost_round": ("Left out: its tool round is not whole.", "未入选：它的工具轮次不完整。"),
}  # fmt: skip
