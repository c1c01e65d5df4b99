"""The embedder over HTTP keeps the contract, and takes nothing a server says on trust."""

import base64
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from backscroll_sidecar.models.openai_embedder import OpenAIEmbedder
from backscroll_sidecar.models.options import OpenAIOptions
from backscroll_sidecar.ports import ModelError, ModelFault
from tests.contract.embedders.embedder_contract import Breaking, EmbedderContract
from tests.kit.fake_embedder import FakeEmbedder

KEY = "sk-kept-to-ourselves"
Answer = Callable[[list[str]], Any]


def rows(texts: list[str]) -> list[dict[str, Any]]:
    made = FakeEmbedder()
    return [
        {"object": "embedding", "index": n, "embedding": (3 * made.vector(text)).tolist()}
        for n, text in enumerate(texts)
    ]


class Vendor:
    """Answers as `answer` says, and keeps what it was sent."""

    def __init__(self, server: HTTPServer) -> None:
        self.url = server.url_for("/v1")
        self.answer: Answer = lambda texts: {"data": rows(texts)[::-1], "model": "m"}
        self.status = 200
        self.requests: list[Request] = []
        server.expect_request("/v1/embeddings", method="POST").respond_with_handler(self._handle)

    def _handle(self, request: Request) -> Response:
        self.requests.append(request)
        body = json.dumps(self.answer(json.loads(request.data)["input"]))
        return Response(body, self.status, content_type="application/json")

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request.data) for request in self.requests]


@pytest.fixture
def vendor(httpserver: HTTPServer) -> Vendor:
    return Vendor(httpserver)


@pytest.fixture
async def connect(vendor: Vendor) -> AsyncIterator[Callable[..., OpenAIEmbedder]]:
    made: list[OpenAIEmbedder] = []

    def making(**fields: Any) -> OpenAIEmbedder:
        options = OpenAIOptions(api_key=KEY, base_url=vendor.url)
        made.append(OpenAIEmbedder(options, **{"model": "small", **fields}))
        return made[-1]

    yield making
    for one in made:
        await one.close()


class TestOpenAIEmbedder(EmbedderContract):
    @pytest.fixture
    async def embedder(self, connect: Callable[..., OpenAIEmbedder]) -> OpenAIEmbedder:
        return connect()

    @pytest.fixture
    def unusable(self, vendor: Vendor) -> Breaking:
        def break_it() -> None:
            vendor.answer = lambda texts: {"data": [{"index": 0, "embedding": [float("nan")] * 64}]}

        return break_it


async def test_what_is_sent(vendor: Vendor, connect: Callable[..., OpenAIEmbedder]) -> None:
    embedder = connect(dims=64)
    await embedder.embed(["a", "b"])
    assert vendor.bodies == [
        {"model": "small", "input": ["a", "b"], "encoding_format": "float", "dimensions": 64}
    ]
    assert vendor.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    assert (embedder.id, embedder.dims) == ("small/64", 64)
    plain = connect()
    assert (plain.id, plain.dims) == ("small", 0)
    await plain.embed(["a"])
    assert (plain.dims, "dimensions" in vendor.bodies[-1]) == (64, False)


async def test_base_64_is_read(vendor: Vendor, connect: Callable[..., OpenAIEmbedder]) -> None:
    raw = base64.b64encode(np.array([3, 4], "<f4").tobytes()).decode()
    vendor.answer = lambda texts: {"data": [{"index": 0, "embedding": raw}]}
    assert (await connect().embed(["a"])).tolist() == [pytest.approx([0.6, 0.8])]


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (400, ModelFault.REJECTED),
        (401, ModelFault.UNAUTHORIZED),
        (429, ModelFault.RATE_LIMITED),
        (500, ModelFault.SERVER_ERROR),
    ],
)
async def test_statuses_are_faults_and_nothing_is_retried(
    vendor: Vendor, connect: Callable[..., OpenAIEmbedder], status: int, fault: ModelFault
) -> None:
    vendor.status = status
    vendor.answer = lambda texts: {"error": {"message": f"{KEY} {texts}"}}
    with pytest.raises(ModelError) as caught:
        await connect().embed(["secret text"])
    assert caught.value.fault is fault
    assert len(vendor.requests) == 1
    assert KEY not in str(caught.value)
    assert "secret" not in str(caught.value)


def vector(*values: Any) -> dict[str, Any]:
    return {"data": [{"index": 0, "embedding": list(values)}]}


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"data": None},
        {"data": []},
        {"data": ["x"]},
        vector(),
        vector("a", "b"),
        vector(True, False),
        vector(0.0, 0.0),
        vector(1e400, 1.0),
        vector(1.0, 2.0, 3.0),
        {"data": [{"index": 7, "embedding": [1.0, 2.0]}]},
        {"data": [{"index": 0, "embedding": "not base 64"}]},
        {"data": [{"index": 0}]},
        [1, 2],
        "text",
    ],
)
async def test_answers_that_cannot_be_used(
    vendor: Vendor, connect: Callable[..., OpenAIEmbedder], answer: Any
) -> None:
    """Another size, another number of vectors, zero, infinite, no vector at all."""
    vendor.answer = lambda texts: answer
    with pytest.raises(ModelError) as caught:
        await connect(dims=2).embed(["a"])
    assert caught.value.fault is ModelFault.BAD_RESPONSE


async def test_the_size_may_not_change(
    vendor: Vendor, connect: Callable[..., OpenAIEmbedder]
) -> None:
    embedder = connect()
    await embedder.embed(["a"])
    vendor.answer = lambda texts: vector(1.0, 2.0)
    with pytest.raises(ModelError):
        await embedder.embed(["a"])


async def test_nobody_listens() -> None:
    embedder = OpenAIEmbedder(OpenAIOptions(base_url="http://127.0.0.1:9/v1"), model="m")
    with pytest.raises(ModelError) as caught:
        await embedder.embed(["a"])
    assert caught.value.fault is ModelFault.CONNECTION
    await embedder.close()
