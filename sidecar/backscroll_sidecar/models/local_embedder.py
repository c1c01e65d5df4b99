"""Embedders of this machine: one model, or several side by side, in one thread of their own. No network.

Several models give one vector: theirs, one behind the other, each of the same length. So the cosine of two such vectors
is the mean of the models' cosines.
"""

import asyncio
import logging
import math
import sys
import time
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from backscroll_sidecar.concurrency.threads import pool
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.models.vectors import checked_vectors
from backscroll_sidecar.ports import ModelError, ModelFault

log = logging.getLogger(__name__)

SWITCH_S = 0.0005


class LocalModel(Protocol):
    """A model in a package. All is called in the embedder's thread, but what it says of itself.

    Attributes
    ----------
    id : names the model and its release.
    dims : numbers a vector.
    chunk_texts : messages at a time, for which a question may have to wait.
    """

    id: str
    dims: int
    chunk_texts: int

    def load(self) -> None:
        """Make it ready. Raises whatever the package raises."""

    def encode(self, texts: Sequence[str], *, is_query: bool) -> ArrayLike:
        """One vector a text, in order, of any length but zero. Raises whatever the package raises."""


class LocalEmbedder:
    """`Embedder` over models of this machine. Make it on the event loop that uses it.

    Parameters
    ----------
    models : one or more. Their order is part of the id.
    """

    def __init__(self, *models: LocalModel) -> None:
        self._models = models
        self.id = "+".join(model.id for model in models)
        self.dims = sum(model.dims for model in models)
        self._chunk_texts = min(model.chunk_texts for model in models)
        self._thread = pool("backscroll-embedder", 1)
        self._loading: asyncio.Future[None] | None = None
        self._queries = 0
        self._free = asyncio.Event()
        self._free.set()
        self._closed = False

    async def start(self) -> None:
        if self._loading is None and not self._closed:
            loop = asyncio.get_running_loop()
            self._loading = asyncio.ensure_future(loop.run_in_executor(self._thread, self._load))
            self._loading.add_done_callback(_tell)

    async def embed(self, texts: Sequence[str], *, is_query: bool = False) -> NDArray[np.float32]:
        await self._ready(is_query)
        if is_query:
            self._queries += 1
            self._free.clear()
            try:
                return await self._run(texts, is_query=True)
            finally:
                self._queries -= 1
                if not self._queries:
                    self._free.set()
        chunks: list[NDArray[np.float32]] = [np.empty((0, self.dims), np.float32)]
        for start in range(0, len(texts), self._chunk_texts):
            await self._free.wait()
            chunks.append(await self._run(texts[start : start + self._chunk_texts], is_query=False))
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

    async def _run(self, texts: Sequence[str], *, is_query: bool) -> NDArray[np.float32]:
        if self._closed:
            raise failed(ModelFault.CONNECTION, "the embedder is not running")
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, self._encode, texts, is_query)
        except ModelError:
            raise
        except Exception:
            log.exception("the local embedder failed")
            raise failed(ModelFault.BAD_RESPONSE) from None

    # --- in the thread -----------------------------------------------------------------------------

    def _load(self) -> None:
        started = time.perf_counter()
        # Reading a vocabulary is a second of plain Python: the loop gets its turn ten times as often meanwhile.
        before = sys.getswitchinterval()
        sys.setswitchinterval(min(before, SWITCH_S))
        try:
            for model in self._models:
                model.load()
        finally:
            sys.setswitchinterval(before)
        log.info("the local embedder was loaded in %.1f s", time.perf_counter() - started)

    def _encode(self, texts: Sequence[str], is_query: bool) -> NDArray[np.float32]:
        made = [
            checked_vectors(model.encode(texts, is_query=is_query), len(texts), model.dims)
            for model in self._models
        ]
        if len(made) == 1:
            return made[0]
        return np.concatenate(made, axis=1) * np.float32(math.sqrt(1 / len(made)))


def _tell(loading: asyncio.Future[None]) -> None:
    """Log what went wrong, once."""
    if not loading.cancelled() and (error := loading.exception()) is not None:
        log.warning("the local embedder cannot be loaded, the semantic source is off: %r", error)
