"""Endpoints of a service `t` without a pipeline before them, for what stands below it."""

from collections.abc import Callable
from functools import partial
from typing import Any

from backscroll_sidecar.edge.call_pipeline import Endpoint

Shape = Callable[[str], Endpoint]


def unary_unary(answer: Any) -> Shape:
    return partial(Endpoint, answer=answer)


def unary_stream(answer: Any) -> Shape:
    return partial(Endpoint, answer=answer, server_streaming=True)


def stream_unary(answer: Any) -> Shape:
    return partial(Endpoint, answer=answer, client_streaming=True)


def stream_stream(answer: Any) -> Shape:
    return partial(Endpoint, answer=answer, client_streaming=True, server_streaming=True)


def endpoints(**shapes: Shape) -> list[Endpoint]:
    return [shape(f"/t/{name}") for name, shape in shapes.items()]
