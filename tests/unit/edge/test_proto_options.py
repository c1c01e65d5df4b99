"""What generators of other languages read: each file names the same Java and Go package, one class a message."""

import pytest

from backscroll.v1 import (
    admin_pb2,
    context_pb2,
    error_pb2,
    experiment_pb2,
    feedback_pb2,
    history_pb2,
    learning_pb2,
    message_pb2,
    preference_pb2,
    session_pb2,
)

FILES = [
    module.DESCRIPTOR
    for module in (
        admin_pb2,
        context_pb2,
        error_pb2,
        experiment_pb2,
        feedback_pb2,
        history_pb2,
        learning_pb2,
        message_pb2,
        preference_pb2,
        session_pb2,
    )
]
CONTRACT = "proto/backscroll/v1"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_options_of_a_file(file):
    options = file.GetOptions()
    assert options.java_package == FILES[0].GetOptions().java_package
    assert options.java_package.endswith("backscroll.v1")
    assert options.java_multiple_files
    assert options.go_package == FILES[0].GetOptions().go_package
    path, _, name = options.go_package.partition(";")
    assert path.endswith("/backscroll/v1")
    assert name.isidentifier()


def test_no_file_is_left_out(pytestconfig):
    there = {path.name for path in (pytestconfig.rootpath / CONTRACT).glob("*.proto")}
    assert there == {file.name.rpartition("/")[2] for file in FILES}
