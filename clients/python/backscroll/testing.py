"""A server for the tests of a bot: in this process, with a model that says what the test tells it to.

Needs ``backscroll[server]``. Nothing leaves the process but what the bot itself sends, and the disk gets nothing but
compiled kernels: those of ``backscroll serve``, in the same place.

Examples
--------
>>> from backscroll.testing import serve  # doctest: +SKIP
>>> with serve(replies=["Sunny."]) as server:  # doctest: +SKIP
...     server.client.chat("room", "do we need a coat?", asker="ann").text
'Sunny.'
"""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from backscroll._sync import Client
from backscroll.values import ToolCall

if TYPE_CHECKING:
    from backscroll_sidecar.config.settings import Settings
    from backscroll_sidecar.ports import ModelRequest
    from backscroll_sidecar.recording import RecordedCall, Recorder

Reply = str | ToolCall | Sequence[str | ToolCall]
"""One answer of the model: a text, a call of a tool, or several pieces in the order in which they are streamed."""

READY_S = 60.0
"""Longest that a start may take, kernels being compiled."""


class TestServer:
    """A running server and what it did.

    Attributes
    ----------
    address : where it serves, for bots in other processes or languages.
    client : a client of it.
    """

    __test__ = False  # pytest: no test of its own

    def __init__(self, address: str, client: Client, recorder: Recorder, model: _Model) -> None:
        self.address = address
        self.client = client
        self._recorder = recorder
        self._model = model

    @property
    def calls(self) -> Sequence[RecordedCall]:
        """What the server asked of its store, its sources and the model, in order."""
        return self._recorder.calls

    def calls_of(self, name: str) -> Sequence[RecordedCall]:
        """The calls of one name: "store.add", "search.recent", "search.semantic", "model"."""
        return [call for call in self.calls if call.name == name]

    def reply(self, *replies: Reply) -> None:
        """Add answers of the model, one for each of its next calls."""
        self._model.replies.extend(replies)

    def clear(self) -> None:
        """Forget the calls so far."""
        self._recorder.clear()


class _Model:
    """Says what it is told to, call by call; a call too many is an error of the model."""

    def __init__(
        self, replies: Iterable[Reply], answer: Callable[[ModelRequest], Reply] | None
    ) -> None:
        self.replies = list(replies)
        self._answer = answer

    def script(self, request: ModelRequest) -> Sequence[Any]:
        """The next answer, as the scripted model plays it."""
        from backscroll_sidecar import ports  # noqa: PLC0415 - the server is an extra

        if self._answer is not None:
            reply = self._answer(request)
        elif self.replies:
            reply = self.replies.pop(0)
        else:
            return [
                ports.ModelError(ports.ModelFault.REJECTED, "the test gave no reply for this call")
            ]
        pieces = [reply] if isinstance(reply, str | ToolCall) else list(reply)
        asks = any(isinstance(piece, ToolCall) for piece in pieces)
        reason = ports.FinishReason.TOOL_CALLS if asks else ports.FinishReason.STOP
        return [*map(_event, pieces), ports.Finished(reason)]


def _event(piece: str | ToolCall) -> Any:  # noqa: ANN401 - an event of the model
    from backscroll_sidecar import domain, ports  # noqa: PLC0415 - the server is an extra

    if isinstance(piece, str):
        return ports.TextDelta(piece)
    return ports.ToolCallDelta(domain.ToolCallPart(piece.id, piece.name, piece.arguments_json))


@contextmanager
def serve(
    replies: Iterable[Reply] = (),
    *,
    answer: Callable[[ModelRequest], Reply] | None = None,
    **settings: Any,  # noqa: ANN401 - each setting has its type
) -> Iterator[TestServer]:
    """Start a server on a free port of this machine; it stops at the end of the block.

    Parameters
    ----------
    replies
        What the model answers, one for each of its calls. More can be added with `TestServer.reply`.
    answer
        Instead of `replies`: makes the answer from what the model was sent.
    settings
        Settings of the server by their names in lower case, such as ``default_profile="classic"``. Without `embedder`
        texts are compared by the words they share.

    Raises
    ------
    ModuleNotFoundError
        ``backscroll[server]`` is not installed.
    """
    try:
        _import_server(settings)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{_NEEDS} ({error})", name=error.name) from error
    from backscroll_sidecar.recording import Recorder  # noqa: PLC0415 - the server is an extra

    recorder, model = Recorder(), _Model(replies, answer)
    started, stop = _Started(), threading.Event()
    thread = threading.Thread(
        target=lambda: asyncio.run(_run(settings, recorder, model, started, stop)),
        name="backscroll-testing",
        daemon=True,
    )
    thread.start()
    try:
        with Client(started.address(), timeout_s=60.0) as client:
            yield TestServer(started.address(), client, recorder, model)
    finally:
        stop.set()
        started.wake()
        thread.join()


_NEEDS = 'backscroll.testing needs the server: in the source tree, pip install ".[server]"'


def _import_server(settings: dict[str, Any]) -> None:
    """Import what serves, its kernels from where ``backscroll serve`` keeps them; tell of those that compile."""
    from backscroll_sidecar.cli import compiling  # noqa: PLC0415 - the server is an extra
    from backscroll_sidecar.config.settings import Settings  # noqa: PLC0415
    from backscroll_sidecar.kernel_cache import kernel_cache  # noqa: PLC0415

    directory = kernel_cache(_configured(Settings, settings).state_dir).directory
    with compiling.into(directory), compiling.said(directory):
        importlib.import_module("backscroll_sidecar.wiring")


def _configured(kind: type[Settings], settings: dict[str, Any]) -> Settings:
    return kind(**{"database": ":memory:", **settings})


class _Started:
    """Hands the address, or the error of a start, from the server's thread to the test's."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._address = ""
        self._error: BaseException | None = None
        self.wake: Callable[[], object] = lambda: None

    def tell(self, address: str = "", error: BaseException | None = None) -> None:
        self._address, self._error = address, error
        self._done.set()

    def address(self) -> str:
        """The server's address. Raises what its start raised."""
        if not self._done.wait(READY_S):
            raise TimeoutError(f"the server did not start within {READY_S:.0f} s")
        if self._error is not None:
            raise self._error
        return self._address


async def _run(
    settings: dict[str, Any],
    recorder: Recorder,
    model: _Model,
    started: _Started,
    stop: threading.Event,
) -> None:
    from backscroll_sidecar import server, wiring  # noqa: PLC0415 - the server is an extra
    from backscroll_sidecar.config.settings import Settings  # noqa: PLC0415
    from backscroll_sidecar.models.scripted import ScriptedModel  # noqa: PLC0415
    from backscroll_sidecar.models.word_embedder import WordEmbedder  # noqa: PLC0415

    try:
        loop, asked_to_stop = asyncio.get_running_loop(), asyncio.Event()
        embedder = None if "embedder" in settings else WordEmbedder()
        async with wiring.open_app(
            _configured(Settings, settings), None, ScriptedModel(model.script), embedder, recorder
        ) as app:
            running = await server.start_server(app, listen=["127.0.0.1:0"])
            started.wake = lambda: loop.call_soon_threadsafe(asked_to_stop.set)
            started.tell(running.addresses[0])
            if not stop.is_set():
                await asked_to_stop.wait()
            await running.stop()
    except BaseException as error:  # noqa: BLE001 - it is raised where the test waits
        started.tell(error=error)
