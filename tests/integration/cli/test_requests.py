"""`backscroll call` and JSON that does not fit the contract."""

import json

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("request_json", "says"),
    [
        ({"messages": [{"author": "ann"}]}, "messages[0].author must be an object with id, name, kind, not a text"),
        ({"messages": {"id": "1"}}, "messages must be a list, not an object"),
        ({"messages": ["hi"]}, "messages[0] must be an object with id, channel"),
        ({"messages": [{"parts": [{"text": "hi"}]}]}, "messages[0].parts[0].text must be an object with text"),
        ({"messages": [{"role": "bot"}]}, "messages[0].role must be one of ROLE_USER, ROLE_ASSISTANT"),
        (3, "it must be an object with channel, messages, context_id, not a number"),
    ],
)  # fmt: skip
def test_a_request_of_the_wrong_shape_is_told_what_fits(commands, request_json, says):
    done = commands.run("call", "AppendMessages", json.dumps(request_json))
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())
