"""Every text of the inspector's pages, in English and in Chinese. Pure.

Words of the contract, such as the names of profiles, sources and terms, are the same in both: who reads them here looks
for them there. What they mean is said in each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from backscroll_sidecar.texts import Language

TEXTS: Mapping[str, tuple[str, str]] = {
    # What stands around every page.
    "skip": ("Skip to the content", "跳到正文"),
    "nav": ("Parts of the inspector", "检查器的各部分"),
    "here": ("Where you are", "当前位置"),
    "steps": ("This question", "这个提问"),
    "dark": ("Dark", "深色"),
    "light": ("Light", "浅色"),
    "keys": ("Keys", "快捷键"),
    "key_jk": ("next and previous line", "下一行、上一行"),
    "key_enter": ("open the line", "打开这一行"),
    "key_slash": ("find, or change what is asked", "查找，或修改提问"),
    "key_help": ("these keys", "显示快捷键"),
    "key_escape": ("close, or leave a field", "关闭，或离开输入框"),
    "close": ("Close", "关闭"),
    "copy": ("Copy", "复制"),
    "copy_raw": ("Copy as sent", "复制原文"),
    "copied": ("Copied", "已复制"),
    "made_of": ("The calls that this page is made of ({count})", "本页所用的调用（{count}）"),
    "made_of_says": (
        "Each call as a command of Backscroll and of grpcurl. A token is taken from BACKSCROLL_TOKEN.",
        "每个调用都给出 backscroll 和 grpcurl 两种命令。令牌取自环境变量 BACKSCROLL_TOKEN。",
    ),
    "as_json": ("This page as JSON", "本页的 JSON"),
    "times_utc": ("Times are UTC", "时间均为 UTC"),
    "logout": ("Log out", "退出"),
    "more": ("More", "更多"),
    "older": ("Older", "更早的"),
    "newest_page": ("Back to the newest", "回到最新"),
    "all": ("Show all", "显示全部"),
    "download": ("Download", "下载"),
    # Titles.
    "title_channels": ("Channels", "频道"),
    "title_trends": ("Trends", "趋势"),
    "title_experiments": ("Experiments", "实验"),
    "title_experiment": ("Experiment", "实验"),
    "title_health": ("Health", "健康状况"),
    "title_builds": ("Builds", "构建记录"),
    "title_build": ("Build", "构建"),
    "title_events": ("Events", "事件"),
    "title_message": ("Message", "消息"),
    "title_question": ("What it would see", "它会看到什么"),
    "title_line": ("Why this line", "这一行的原因"),
    "title_compare": ("What if", "如果换一种方式"),
    "title_payload": ("Payload", "请求体"),
    "title_case": ("Test case", "测试用例"),
    "title_login": ("Log in", "登录"),
    "title_error": ("Not possible", "无法完成"),
    "step_question": ("Lines", "各行"),
    "step_compare": ("What if", "如果……"),
    "step_payload": ("Payload", "请求体"),
    "step_case": ("Copy as test case", "复制为测试用例"),
    # Channels and timelines.
    "channel": ("Channel", "频道"),
    "messages": ("messages", "条消息"),
    "message_count": ("Messages", "消息数"),
    "newest": ("Newest", "最新"),
    "find": ("Find", "查找"),
    "find_channel": ("Find a channel", "查找频道"),
    "find_words": ("Find words in this channel", "在本频道中查找"),
    "no_channel_found": ("No channel has this in its name.", "没有名称包含这些字的频道。"),
    "timeline": ("Timeline", "时间线"),
    "found": ("{count} found.", "找到 {count} 条。"),
    "nothing_found": ("No message here.", "这里没有消息。"),
    "inferred": ("inferred", "推断"),
    "partial": ("broke off", "未完成"),
    "no_text": ("(no text)", "（无文字）"),
    "more_chars": ("{count} more characters", "另有 {count} 个字符"),
    "as_question": ("Open as the question", "作为提问打开"),
    "its_message": ("Message and reply tree", "消息与回复树"),
    "ask_own": ("Ask something of your own", "自己提一个问题"),
    "asker": ("Asker (user id)", "提问者（用户 id）"),
    "as_server": ("as the server has it", "按服务器的设置"),
    "build": ("Build the context", "构建上下文"),
    "author": ("Author", "作者"),
    "type": ("Type", "类型"),
    "tokens": ("Tokens", "token"),
    "keywords": ("Keywords", "关键词"),
    "mentioned": ("Mentions", "提及"),
    "revision": ("Edits", "编辑次数"),
    "reply_tree": ("Reply tree", "回复树"),
    "around": ("Around it", "前后的消息"),
    "its_builds": ("Builds for this question", "为这个提问做的构建"),
    # A server without messages.
    "welcome": ("Nothing is stored yet", "还没有存储任何消息"),
    "welcome_says": (
        "The inspector shows, for every question, which lines of a chat a model is shown and why. It needs a chat.",
        "检查器会为每个提问显示：聊天中的哪些行会给模型看，以及原因。首先需要一段聊天。",
    ),
    "try_demo": ("Try it with the demo chat", "用演示聊天试一试"),
    "try_demo_says": (
        (
            "400 lines of the Ubuntu IRC channel (Kummerfeld et al. 2019, CC BY 4.0). To be rid of them: "
            "backscroll erase --channel irc-2011-11-13_02."
        ),
        (
            "Ubuntu IRC 频道的 400 行（Kummerfeld 等，2019，CC BY 4.0）。要删除它们："
            "backscroll erase --channel irc-2011-11-13_02。"
        ),
    ),
    "load_demo": ("Load the demo chat", "载入演示聊天"),
    "import": ("Import a chat of yours", "导入自己的聊天"),
    "import_says": (
        "Exports of Telegram, Discord, Slack, WhatsApp, WeChat, QQ, Lark and IRC are understood.",
        "支持 Telegram、Discord、Slack、WhatsApp、微信、QQ、飞书和 IRC 的导出文件。",
    ),
    "append": ("Append from your bot", "由机器人写入"),
    "append_says": (
        "One call for each message, safe to repeat; any language with gRPC can make it.",
        "每条消息一个调用，可安全重复；任何支持 gRPC 的语言都可以。",
    ),
    # A question and its candidates.
    "question": ("Question", "提问"),
    "nobody": ("Somebody", "某人"),
    "profile": ("Profile", "profile"),
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
    "decided_by": ("decided by", "决定环节"),
    "visible_by": ("visible by", "可见规则"),
    "term": ("Term", "项"),
    "means": ("What it says", "含义"),
    "share": ("Share", "份额"),
    "sum": ("sum", "总和"),
    "threshold": ("threshold", "阈值"),
    "by_link": ("The probability that the question answers this very message", "提问正是在回应这条消息的概率"),
    "by_conversation": (
        "The probability that it belongs to the question's conversation",
        "它属于提问所在对话的概率",
    ),
    "by_memory": ("How well it answers a question about long ago", "它多大程度上答得上关于往事的提问"),
    "by_meaning": ("How similar its meaning is to the question", "它与提问在含义上的相似度"),
    "by_score": ("The weighted sum of the profile's factors", "profile 各因素的加权和"),
    "by_recency": ("How new it is", "它有多新"),
    "factor_names": ("who names whom", "谁提到了谁"),
    "factor_turns": ("whose turn it is", "轮到谁说话"),
    "factor_distance": ("how many lines and people lie between", "相隔多少行、多少人"),
    "factor_time": ("how long ago, against the pace of the chat", "相对聊天节奏的时间间隔"),
    "factor_text": ("words in common, and how rare they are", "共同的词及其罕见程度"),
    "factor_identifiers": ("the same address, path, error code or name", "相同的地址、路径、错误码或名称"),
    "factor_cues": ("what kind of line it is", "这是哪一类话"),
    "factor_conversation": ("how it is linked with the lines around", "与周围各行的联系"),
    "factor_constant": ("the same for each", "每行都相同"),
    "factor_words": ("words in common (BM25)", "共同的词（BM25）"),
    "factor_talk": ("words of the talk with the bot", "与机器人对话中的词"),
    "factor_passage": ("words in the lines around it", "它周围各行的词"),
    "factor_wide_passage": ("words in more lines around it", "更大范围周围各行的词"),
    "factor_meaning": ("how similar its meaning is", "含义的相似度"),
    "factor_date": ("the question names its time", "提问提到了它的时间"),
    "factor_speaker": ("the question names its author", "提问提到了它的作者"),
    "factor_asker": ("it may be about the asker", "可能与提问者有关"),
    "factor_question": ("it asks, and answers are wanted", "它本身是提问，而这里要的是回答"),
    "factor_time_word": ("it has a word of time", "含有时间词"),
    "factor_number": ("it has a number", "含有数字"),
    "factor_reply_chain": ("the question answers it, directly or not", "提问直接或间接回复它"),
    "factor_user_continuity": ("it is by the asker, minutes ago", "提问者几分钟前所说"),
    "factor_time_decay": ("how fresh it is", "有多新"),
    "factor_mention_relation": ("mentions of each other", "彼此提及"),
    "factor_keyword_overlap": ("shared keywords", "共同的关键词"),
    "factor_recency": ("how new it is", "有多新"),
    "source_recent": ("among the newest", "最新的几行"),
    "source_window": ("inside the time window", "时间窗口内"),
    "source_thread": ("in the question's reply tree", "在提问的回复树中"),
    "source_mention": ("names the asker, or is by somebody named", "提到提问者，或由被提到的人所说"),
    "source_lexical": ("shares words with the question", "与提问有共同的词"),
    "source_semantic": ("means something similar", "含义相近"),
    "source_asker": ("by the asker", "提问者所说"),
    "source_pinned": ("pinned in the channel", "已在频道中置顶"),
    "source_chain": ("what the question replies to", "提问所回复的消息"),
    "source_graph": ("few replies away", "顺着回复走几步就到"),
    "source_recall": ("best of the whole history", "全部历史中最匹配的"),
    "source_sharing": ("of a channel that shares", "来自共享的频道"),
    "source_since": ("said since that moment", "那一刻之后所说"),
    # Two ways.
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
    # Payload, test case.
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
    # Records.
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
    # Trends and health.
    "trends_says": ("The last 60 minutes; whole minutes only.", "最近 60 分钟，只含完整的分钟。"),
    "no_metrics": ("No context was built yet.", "还没有构建过上下文。"),
    "most": ("most", "最高"),
    "periods": ("Since the start, and of the last hour", "启动以来与最近一小时"),
    "metric": ("Metric", "指标"),
    "labels": ("Labels", "标签"),
    "since_start": ("Since start", "启动以来"),
    "last_hour": ("Last hour", "最近一小时"),
    "panel_contexts_per_minute": ("Contexts", "上下文"),
    "panel_says_contexts_per_minute": (
        "Contexts built a minute, by the rung they stand on: ranked, the last messages (recent), nothing (empty).",
        "每分钟构建的上下文，分三级：按相关性（ranked）、最近的消息（recent）、空（empty）。",
    ),
    "panel_build_time": ("Build time", "构建用时"),
    "panel_says_build_time": (
        "How long a build takes: on average, and for the slowest of twenty.",
        "构建用时：平均值，以及最慢的二十分之一。",
    ),
    "panel_stage_time": ("Build time by stage", "各阶段用时"),
    "panel_says_stage_time": ("Where the time of a build goes.", "构建的时间花在哪里。"),
    "panel_errors_and_fallbacks": ("Errors and fallbacks", "错误与回退"),
    "panel_says_errors_and_fallbacks": (
        "Builds that gave no context, and contexts on a lower rung, as shares.",
        "没有得到上下文的构建，以及回退的上下文，各占的比例。",
    ),
    "panel_token_savings": ("Token savings", "节省的 token"),
    "panel_says_token_savings": (
        "What contexts save beside pasting the recent window.",
        "与直接粘贴最近窗口相比的节省。",
    ),
    "panel_score_distribution": ("Relevance scores", "相关性得分"),
    "panel_says_score_distribution": (
        "Messages shown in the last hour, by their scores up to each bound.",
        "最近一小时显示的消息，按得分区间。",
    ),
    "panel_relevance": ("Average relevance", "平均相关性"),
    "panel_says_relevance": (
        "Average score of the messages shown, by profile. Scores of two profiles do not compare.",
        "所显示消息的平均得分，按 profile。不同 profile 的得分不可比较。",
    ),
    "panel_cache_hits": ("Channels in memory", "内存中的频道"),
    "panel_says_cache_hits": (
        "Builds whose channel was in memory, as a share.",
        "频道已在内存中的构建所占比例。",
    ),
    "panel_feedback": ("Feedback of the last hour", "最近一小时的反馈"),
    "panel_says_feedback": (
        "Average success that people gave contexts, and the share of contexts with 0.5 or more.",
        "人们给出的平均成功度，以及不低于 0.5 的比例。",
    ),
    "panel_token_count_error": ("Error of token counts", "token 计数误差"),
    "panel_says_token_count_error": (
        "How far our token counts were from those of each model's vendor in the last hour.",
        "最近一小时我们的 token 计数与各模型厂商的差距。",
    ),
    "panel_queues": ("Queues", "队列"),
    "panel_says_queues": (
        "Rows that wait for their commit, and channels with messages that wait for their vector.",
        "等待提交的行，以及有消息等待向量的频道。",
    ),
    "series_average": ("average", "平均"),
    "series_errors": ("errors", "错误"),
    "series_fallbacks": ("fallbacks", "回退"),
    "series_saved": ("saved", "节省"),
    "series_hits": ("hits", "命中"),
    "series_satisfaction": ("satisfaction", "满意度"),
    "series_effective": ("effective", "有效"),
    "series_writer": ("writer", "写入"),
    "series_embedding": ("embedding", "向量"),
    "unit_messages": ("messages", "条消息"),
    "unit_items": ("items", "项"),
    "unit_contexts": ("contexts", "次构建"),
    "unit_contexts/min": ("contexts/min", "次构建/分钟"),
    "unit_contexts/h": ("contexts/h", "次构建/小时"),
    "unit_channels": ("channels", "个频道"),
    "unit_builds": ("builds", "次构建"),
    "unit_records": ("records", "条记录"),
    "unit_tokens": ("tokens", "个 token"),
    "unit_events": ("events", "个事件"),
    "unit_texts": ("texts", "段文字"),
    "unit_summaries": ("summaries", "份摘要"),
    "unit_parts": ("parts", "个部分"),
    "unit_calls": ("calls", "次调用"),
    "unit_loads": ("loads", "次加载"),
    "unit_bytes": ("bytes", "字节"),
    "unit_tunings": ("tunings", "次调优"),
    "unit_commits": ("commits", "次提交"),
    "all_well": ("Nothing needs attention.", "一切正常。"),
    "look_here": ("Something needs attention.", "有需要留意的地方。"),
    "well": ("well", "正常"),
    "not_well": ("look", "留意"),
    "check_errors": ("Builds that failed", "失败的构建"),
    "check_says_errors": ("share of the last hour; look above 1 %", "最近一小时的比例；高于 1% 请留意"),
    "check_fallbacks": ("Contexts on a lower rung", "回退的上下文"),
    "check_says_fallbacks": ("share of the last hour; look above 5 %", "最近一小时的比例；高于 5% 请留意"),
    "check_queue_writer": ("Rows that wait for their commit", "等待提交的行"),
    "check_says_queue_writer": ("now; look above 1,000", "当前；多于 1,000 请留意"),
    "check_queue_embedding": ("Channels that wait for vectors", "等待向量的频道"),
    "check_says_queue_embedding": ("now; look above 1,000", "当前；多于 1,000 请留意"),
    "health_note": (
        "These are numbers of the running server. Machine, database and configuration are looked at by",
        "这些是运行中服务器的数字。机器、数据库与配置由以下命令检查：",
    ),
    # Experiments.
    "state": ("State", "状态"),
    "state_scheduled": ("scheduled", "已计划"),
    "state_running": ("running", "进行中"),
    "state_stopped": ("stopped", "已停止"),
    "arms": ("Arms", "分组"),
    "arm": ("Arm", "分组"),
    "coverage": ("Coverage", "覆盖率"),
    "since": ("Since", "起始"),
    "listed": ("listed", "名单"),
    "no_experiments": ("There is no experiment.", "没有实验。"),
    "sample_alarm": (
        "Channels are in arms otherwise than the weights say: differences mean nothing.",
        "频道的分组与权重不符：分组之间的差异没有意义。",
    ),
    "measure_build_milliseconds": ("Time", "用时"),
    "measure_tokens": ("Tokens", "token"),
    "measure_accuracy": ("Accuracy", "准确度"),
    "measure_fallbacks": ("Fallbacks", "回退"),
    "measure_recall": ("Recall", "召回"),
    "measure_same_messages": ("Same messages", "相同消息"),
    # Login and errors.
    "login_says": (
        "This server wants a token. It is kept in a cookie that no script reads, until the browser closes.",
        "此服务器需要令牌。令牌保存在脚本无法读取的 cookie 中，直到关闭浏览器。",
    ),
    "login_wrong": ("The server does not know this token.", "服务器不认识这个令牌。"),
    "token": ("Token", "令牌"),
    "login": ("Log in", "登录"),
    "to_channels": ("To the channels", "回到频道列表"),
    "error_INVALID_ARGUMENT": ("This cannot be asked", "请求有误"),
    "error_NOT_FOUND": ("Not there", "不存在"),
    "error_PERMISSION_DENIED": ("Your key does not permit this", "你的密钥不允许这样做"),
    "error_FAILED_PRECONDITION": ("This is gone", "已不存在"),
    "error_UNAVAILABLE": ("The server cannot answer now; try again", "服务器现在无法回答，请重试"),
    "error_RESOURCE_EXHAUSTED": ("The server is busy; try again", "服务器繁忙，请重试"),
    "error_DEADLINE_EXCEEDED": ("This took too long", "用时过长"),
    "why_PAGE_NOT_FOUND": ("there is no such page", "没有这个页面"),
    "error": ("The server failed", "服务器出错"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts in one language."""

    language: Language

    def __call__(self, key: str, **values: object) -> str:
        """A text by its key, with what it holds; a key that is unknown is a fault of ours, save those of `maybe`."""
        english, chinese = TEXTS[key]
        text = chinese if self.language is Language.ZH else english
        return text.format(**values) if values else text

    def measured(self, value: str) -> str:
        """A number with its unit."""
        number, _, unit = value.partition(" ")
        return f"{number} {self.maybe(f'unit_{unit}', unit)}".rstrip()

    def maybe(self, key: str, otherwise: str = "") -> str:
        """The same, or something else where there is none: words of the contract may be an operator's own."""
        return self(key) if key in TEXTS else otherwise


def language_wanted(accepted: str) -> Language:
    """The first language of an Accept-Language header that there is, by weight; English without one."""
    found: list[tuple[float, int, Language]] = []
    for place, one in enumerate(accepted.split(",")[:50]):
        tag, _, weight = one.partition(";")
        main = tag.strip().lower().partition("-")[0]
        quality = _quality(weight)
        if main in {Language.EN.value, Language.ZH.value} and quality > 0:
            found.append((-quality, place, Language(main)))
    return min(found)[2] if found else Language.EN


def _quality(weight: str) -> float:
    name, _, value = weight.strip().partition("=")
    try:
        return float(value) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0
