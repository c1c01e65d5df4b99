"""Whether a text tells that something went wrong, as programs say it in English and Chinese. Pure."""

from __future__ import annotations

import re

_STEMS = (
    "abort|broken|cancel|corrupt|crash|denied|deadlock|disconnect|duplicate|err(?:no|or)|exceed|exhaust|expire|fail|"
    "fatal|forbid|illegal|inappropriate|incompatib|incorrect|interrupt|invalid|kill|mismatch|missing|overflow|overrun|"
    "panic|refuse|reject|segfault|terminat|timeout|timed out|unable|unauthori|unavailab|undefined|underflow|unexpected|"
    "unhandled|unknown|unmet|unreachable|unrecogni|unresolved|unsupported|violat|warn"
)
_WORDS = (
    "already|bad|busy|can ?not|can't|could ?n[o']t|down|exists|fault|full|halted|leak|lock|locked|loop|lost|no|not|"
    "out of|permission|read-only|required|reset|revoked|stale|stopped|syntax|too|unclean|wrong"
)
_CHINESE = (
    "错误|出错|报错|失败|异常|拒绝|不足|不够|不到|未找到|无法|不能|无权|没有|不存在|不支持|不允许|不可|不正确|"
    "不合法|不匹配|不兼容|未定义|未知|未授权|无效|非法|超时|过期|失效|超出|超过|过多|过长|过大|太多|太长|太大|"
    "溢出|越界|中断|终止|中止|崩溃|损坏|冲突|缺少|缺失|丢失|禁止|占用|已满|已存在|断开|重置|死锁|警告|致命|泄漏|"
    "泄露|故障|只读|语法"
)
_TELLS = re.compile(rf"exception|error\b|\b(?:{_STEMS})|\b(?:{_WORDS})\b|{_CHINESE}", re.IGNORECASE)


def tells_error(text: str) -> bool:
    """Whether a few words of a text may be what a program says when something went wrong. O(n)."""
    return _TELLS.search(text) is not None
