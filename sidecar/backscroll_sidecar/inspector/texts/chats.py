"""Channels, timelines and messages, and a server that holds nothing yet. Pure."""

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
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
}  # fmt: skip
