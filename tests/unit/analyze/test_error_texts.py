"""What programs say when something went wrong is told from other talk, in both languages."""

import errno
import os

import pytest

from backscroll_sidecar.analyze.error_texts import tells_error


@pytest.mark.parametrize(
    "text",
    [
        "no such file or directory", "broken pipe", "Cannot allocate memory", "wrong fs type", "held broken packages",
        "command not found", "Segmentation fault", "NullPointerException", "404 Not Found", "Timed out",
        "连接被拒绝", "内存不足", "找不到文件或目录", "权限不够", "证书已过期", "语法错误", "空指针异常",
        "段错误", "磁盘已满",
    ],
)  # fmt: skip
def test_an_error_text(text):
    assert tells_error(text)


@pytest.mark.parametrize(
    "text",
    [
        "address book",
        "the latest KDE",
        "good morning all",
        "a note on knots",
        "dual boot",
        "凯拉·奈特利",
        "第一部电影",
        "",
    ],
)
def test_other_talk(text):
    assert not tells_error(text)


def test_most_of_what_the_system_says():
    texts = [os.strerror(number) for number in errno.errorcode]
    assert sum(map(tells_error, texts)) >= 0.8 * len(texts)
