"""A question with its candidates, its payload, and the test that is made of it. Pure."""

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "question": ("Question", "提问"),
    "nobody": ("Somebody", "某人"),
    "profile": ("Profile", "profile"),
    "taken_count": ("Taken", "入选"),
    "taken": ("taken", "入选"),
    "of": ("of", "/"),
    "time": ("Time", "用时"),
    "rung": ("Fell back to", "回退到"),
    "rung_ranked": ("ranked", "按相关性"),
    "rung_recent": ("the last messages", "最近的消息"),
    "rung_empty": ("nothing", "空"),
    "degraded": ("Failed", "失败的部分"),
    "experiment": ("Experiment", "实验"),
    "tokens_of": ("{total} of {budget} tokens", "{total} / {budget} token"),
    "part_system": ("system", "系统"),
    "part_tools": ("tools", "工具"),
    "part_summary": ("summary", "摘要"),
    "part_preferences": ("preferences", "偏好"),
    "part_semantic": ("references", "参考内容"),
    "part_recent": ("conversation", "对话"),
    "part_question": ("question", "提问"),
    "part_framing": ("framing", "格式开销"),
    "part_reserve": ("reserve", "预留"),
    "summary": ("Summary of what lies before", "此前内容的摘要"),
    "channel_unknown": ("The server has never heard of this channel.", "服务器从未见过这个频道。"),
    "no_candidates": ("Nothing was there to choose from.", "没有可选的内容。"),
    "candidates": ("Candidates in order of time", "候选，按时间排列"),
    "rank_says": ("place in the ranking; ◇ is a near miss", "排名；◇ 表示差一点入选"),
    "ago": ("ago", "多久前"),
    "who": ("who", "谁"),
    "message": ("message", "消息"),
    "takes": ("takes", "减分"),
    "adds": ("adds", "加分"),
    "score": ("score", "得分"),
    "by": ("by", "依据"),
    "found_by": ("found by", "来源"),
    "why": ("why", "原因"),
    "terms": ("Terms of the score", "得分的各项"),
    "near_miss": ("near miss", "差一点入选"),
    "best": ("best", "最高"),
    "folded": ("{count} more that were left out", "另有 {count} 行未入选"),
    "recorded_as": ("recorded: {fate}", "记录中：{fate}"),
    "score_note": (
        (
            "Scores compare only where “by” is the same. Threshold {threshold}; {link} turns the sum into the score. "
            "Open a line for each of its terms."
        ),
        "只有“依据”相同的得分才能比较。阈值 {threshold}；由 {link} 把总和变为得分。打开一行可看每一项。",
    ),
    "decided_by": ("decided by", "决定环节"),
    "visible_by": ("visible by", "可见规则"),
    "term": ("Term", "项"),
    "means": ("What it says", "含义"),
    "share": ("Share", "份额"),
    "sum": ("sum", "总和"),
    "threshold": ("threshold", "阈值"),
    "format": ("Format", "格式"),
    "payload_says": (
        (
            "Set in lines here; the download and the copy are byte for byte what is posted. Layout {layout}, "
            "{stable} tokens of stable beginning."
        ),
        "此处为便于阅读而分行；下载和复制的内容与所发送的逐字节相同。布局 {layout}，稳定前缀 {stable} token。",
    ),
    "neutral_messages": ("As neutral messages", "与厂商无关的消息"),
    "case_says": (
        (
            "Two files: {messages} messages with the question and the {expected} lines that it shows, and a test that "
            "asks a server of its own. Change “expected” to what you want, and see it fail."
        ),
        (
            "共两个文件：一个是 {messages} 条消息、提问和它应显示的 {expected} 行，另一个是自带服务器的测试。"
            "把 expected 改成你想要的，再看它失败。"
        ),
    ),
    "case_run": ("Put both into one folder, and run:", "把两个文件放进同一文件夹，然后运行："),
}  # fmt: skip
