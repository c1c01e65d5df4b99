"""Login and errors. Pure."""

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
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
