"""A model that is none, of OpenAI's Chat Completions: it shows what it is sent, and says how much that was.

    python examples/fake_model.py
    BACKSCROLL_MODEL_BASE_URL=http://127.0.0.1:8000/v1 backscroll serve --http-listen 127.0.0.1:7172

It needs nothing but Python, answers at once and in streams, and knows no words of its own.
"""

import argparse
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HEAD = {"id": "chatcmpl-fake", "created": 0, "model": "fake-model"}


class FakeModel(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """The one model there is."""
        model = {"id": HEAD["model"], "object": "model", "created": 0, "owned_by": "nobody"}
        self.say(json.dumps({"object": "list", "data": [model]}).encode(), "application/json")

    def do_POST(self) -> None:
        """A completion."""
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        lines = [f"{one['role']}: {one.get('content')}" for one in asked["messages"]]
        print("\n".join(["", "The model was sent:", *lines]), flush=True)
        said = f"I was sent {len(lines)} messages. The last one is “{lines[-1]}”"
        if asked.get("stream"):
            self.say(b"".join(events(said)), "text/event-stream")
            return
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": said},
            "finish_reason": "stop",
        }
        whole = {**HEAD, "object": "chat.completion", "choices": [choice]}
        self.say(json.dumps(whole).encode(), "application/json")

    def say(self, body: bytes, kind: str) -> None:
        """Write an answer."""
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing of the connection."""


def events(said: str) -> Iterator[bytes]:
    """The chunks of a stream, a word each."""
    words: list[tuple[dict[str, str], str | None]] = [
        ({"content": word + " "}, None) for word in said.split(" ")
    ]
    for delta, finish in [*words, ({}, "stop")]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = {**HEAD, "object": "chat.completion.chunk", "choices": [choice]}
        yield b"data: " + json.dumps(chunk).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    server = ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), FakeModel)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()
