"""Recorded builds, what came of them, and events. Pure."""

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "when": ("When", "时间"),
    "outcome": ("Outcome", "结果"),
    "success": ("success", "成功度"),
    "shadow": ("shadow", "影子"),
    "policy": ("Policy", "policy"),
    "no_builds": (
        "No build is recorded here yet. Builds are recorded behind their answers, a moment later.",
        "这里还没有构建记录。构建返回结果后，过一会儿才写入记录。",
    ),
    "question_not_stored": ("The question was not stored.", "提问没有被存储。"),
    "question_erased": ("The question was erased.", "提问已被删除。"),
    "record_note": (
        (
            "A record keeps scores and fates. The terms are those of the same question asked again at its moment; "
            "where that comes out otherwise, the record's fate stands beside it."
        ),
        "记录只保存得分和去向。各项得分是按当时的时刻重新提问算出来的；若与记录不同，会在旁边标出记录中的去向。",
    ),
    "what_came": ("What came of it", "后来如何"),
    "feedback": ("Feedback", "反馈"),
    "signal_feedback": ("somebody said", "有人评价"),
    "signal_rephrased": ("asked the same again", "换了说法再问"),
    "signal_corrected": ("was corrected", "被纠正"),
    "signal_thanked": ("was thanked", "得到感谢"),
    "signal_cited_left_out": ("somebody pointed to a line left out", "有人指出了未入选的一行"),
    "signal_answered_by_other": ("somebody else answered", "由别人作答"),
    "events_of": ("{count} events", "{count} 个事件"),
    "event": ("Event", "事件"),
    "of_what": ("Of", "属于"),
    "holds": ("Holds", "内容"),
    "no_events": ("No event is recorded here yet.", "这里还没有事件记录。"),
}  # fmt: skip
