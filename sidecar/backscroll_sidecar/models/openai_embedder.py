"""Embeddings from any server that speaks OpenAI's ``/embeddings``. Never retries by itself."""

import asyncio
import base64
import binascii
import logging
from collections.abc import Mapping, Sequence

import numpy as np
import orjson
from numpy.typing import NDArray

from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.models.openai import OpenAIModel
from backscroll_sidecar.models.options import OpenAIOptions
from backscroll_sidecar.models.vectors import checked_vectors
from backscroll_sidecar.ports import ModelFault

log = logging.getLogger(__name__)

QUERY_S, MESSAGES_S = 10.0, 60.0
"""Longest wait for the vector of a question, and for a batch of messages."""
_PATH = "/embeddings"


class OpenAIEmbedder:
    """`Embedder` over the client of the chat model. Make it on the event loop that uses it.

    Parameters
    ----------
    options : address, key, waits; see `OpenAIOptions`.
    model : asked for; also the embedder's id.
    dims : size to ask for; None takes what the model gives, and holds it to that from then on.
    """

    def __init__(self, options: OpenAIOptions, *, model: str, dims: int | None = None) -> None:
        self._client = OpenAIModel(options)
        self._model = model
        self._asked_dims = dims
        self._dims = dims or 0

    @property
    def id(self) -> str:
        return self._model if self._asked_dims is None else f"{self._model}/{self._asked_dims}"

    @property
    def dims(self) -> int:
        return self._dims

    async def start(self) -> None:
        """Nothing has to be loaded."""

    async def embed(self, texts: Sequence[str], *, is_query: bool = False) -> NDArray[np.float32]:
        if not texts:
            return np.empty((0, self._dims), np.float32)
        body: dict[str, object] = {
            "model": self._model,
            "input": list(texts),
            "encoding_format": "float",
        }
        if self._asked_dims is not None:
            body["dimensions"] = self._asked_dims
        deadline = asyncio.get_running_loop().time() + (QUERY_S if is_query else MESSAGES_S)
        answer = await self._client.post(_PATH, orjson.dumps(body), deadline)
        vectors = checked_vectors(_rows(answer, len(texts)), len(texts), self._dims)
        self._dims = vectors.shape[1]
        return vectors

    async def close(self) -> None:
        await self._client.close()


def _rows(answer: object, count: int) -> list[Sequence[float]]:
    """The vectors of an answer in the order of the texts; servers may send them in another."""
    data = answer.get("data") if isinstance(answer, Mapping) else None
    if not isinstance(data, list) or len(data) != count:
        raise failed(ModelFault.BAD_RESPONSE)
    rows: dict[int, Sequence[float]] = {}
    for place, one in enumerate(data):
        if not isinstance(one, Mapping):
            raise failed(ModelFault.BAD_RESPONSE)
        index = one.get("index", place)
        if not isinstance(index, int) or not 0 <= index < count:
            raise failed(ModelFault.BAD_RESPONSE)
        rows[index] = _numbers(one.get("embedding"))
    if len(rows) != count:
        raise failed(ModelFault.BAD_RESPONSE)
    return [rows[index] for index in range(count)]


def _numbers(value: object) -> Sequence[float]:
    """A vector as a list of numbers, or in base 64 from servers that always send it so."""
    if isinstance(value, str):
        try:
            raw = base64.b64decode(value, validate=True)
            return [float(one) for one in np.frombuffer(raw, "<f4")]
        except (binascii.Error, ValueError):
            raise failed(ModelFault.BAD_RESPONSE) from None
    if not isinstance(value, list) or not all(
        isinstance(one, int | float) and not isinstance(one, bool) for one in value
    ):
        raise failed(ModelFault.BAD_RESPONSE)
    return value
