"""The worked example of design S1, copied from the document, and what its sections say must come out.

Written from the document alone (sections 2.2, 4, 5.1, 5.2, 6), not from the code: a golden file that was recorded
from a mistake differs from it.
"""

from typing import Any

SYSTEM = (
    "你是一个有用的助手，用中文回答问题。不要使用Markdown格式，不要使用任何格式化符号（如*、_、`、#等），"
    "输出纯文本，适合Telegram消息。"
)
"""5.2, first message, and S1-17."""

PREFERENCE = "用户偏好喝茶。"
RECENT = (
    ("user", "狗吃什么"),
    ("assistant", "狗可以吃狗粮、肉类和部分蔬菜。"),
    ("user", "猫吃什么"),
    ("assistant", "猫是肉食动物，适合吃猫粮、鱼肉和煮熟的鸡肉。"),
)
SEMANTIC = (
    ("user", "我家的猫喜欢鱼"),
    ("assistant", "可以适量喂鱼，注意去刺。"),
)
QUESTION = "那猫呢？"

PREFERENCES_PART = "User Preferences: 用户偏好喝茶。"
RECENT_PART = (
    "Conversation (recent):\nUser: 狗吃什么\nAssistant: 狗可以吃狗粮、肉类和部分蔬菜。\n"
    "User: 猫吃什么\nAssistant: 猫是肉食动物，适合吃猫粮、鱼肉和煮熟的鸡肉。"
)
SEMANTIC_PART = (
    "Relevant reference (semantic):\nUser: 我家的猫喜欢鱼\nAssistant: 可以适量喂鱼，注意去刺。"
)
SYSTEM_PART = f"System: {SYSTEM}"

CONTENT_OF_5_2 = (
    "User Preferences: 用户偏好喝茶。\n\n"
    "Conversation (recent):\n"
    "User: 狗吃什么\n"
    "Assistant: 狗可以吃狗粮、肉类和部分蔬菜。\n"
    "User: 猫吃什么\n"
    "Assistant: 猫是肉食动物，适合吃猫粮、鱼肉和煮熟的鸡肉。\n\n"
    "Relevant reference (semantic):\n"
    "User: 我家的猫喜欢鱼\n"
    "Assistant: 可以适量喂鱼，注意去刺。\n\n"
    "用户提问: 那猫呢？"
)
BODY_OF_5_2 = {
    "model": "gpt-3.5-turbo",
    "messages": [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": CONTENT_OF_5_2},
    ],
}


def message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def expected(
    layout: str, *, system: bool, preferences: bool, recent: bool, semantic: bool
) -> dict[str, Any]:
    """The example with some of its parts, the system text asked for with include_system where it is there."""
    preferences_part = [PREFERENCES_PART] if preferences else []
    semantic_part = [SEMANTIC_PART] if semantic else []
    context = [*preferences_part, *([RECENT_PART] if recent else []), *semantic_part]
    text = "\n\n".join([SYSTEM_PART, *context] if system else context)
    system_message = [message("system", SYSTEM)] if system else []
    question = message("user", QUESTION)
    if layout == "turns":  # 2.2
        reference = "\n\n".join(preferences_part + semantic_part)
        messages = [
            *system_message,
            *([message(role, content) for role, content in RECENT] if recent else []),
            *([message("user", reference)] if reference else []),
            question,
        ]
    elif layout == "context_and_question":  # 5.1
        messages = [*([message("user", text)] if text else []), question]
    elif layout == "single_user":  # 5.2
        messages = [message("user", "\n\n".join(filter(None, [text, f"用户提问: {QUESTION}"])))]
    else:  # 6, scheme C
        content = "\n\n".join([*context, f"用户提问: {QUESTION}"])
        messages = [*system_message, message("user", content)]
    return {"messages": messages, "payload_messages": messages, "text": text}
