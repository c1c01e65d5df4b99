"""Which right an RPC needs: the table holds every RPC of the contract."""

import pytest

from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.edge.keys import Key, Right
from backscroll_sidecar.edge.rights import NEEDS, check_known, need_of
from backscroll_sidecar.errors import NotAllowed
from tests.integration.edge.keys.worlds import METHODS, REQUESTS, Place


def test_every_rpc_of_the_contract_says_what_it_needs() -> None:
    """A new RPC must have a line in the table, and one in the matrix of keys."""
    assert NEEDS.keys() == METHODS.keys()
    assert REQUESTS.keys() == METHODS.keys()


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_field_of_a_request_that_is_a_channel_is_looked_at(name: str) -> None:
    """A field called channel at the top of a request, or in its message, is one that the table names."""
    need = NEEDS[name]
    if name == "HistoryService/ImportMessages":  # parsed otherwise; the leaks have it
        return
    kind = METHODS[name].input_type
    if "channel" not in kind.fields_by_name:
        return
    (request,) = REQUESTS[name](Place("guild-2/b"))
    request.channel = "guild-2/b"
    assert ("channel", "guild-2/b") in set(need.channels(request))


def test_what_no_need_is_known_for_is_for_keys_without_limits() -> None:
    assert need_of("backscroll.v1.NewService/NewCall") is None
    check_known(Key("acme"))
    for key in (
        Key("acme", rights=frozenset({Right.READ})),
        Key("acme", channels=AllowedChannels()),
    ):
        with pytest.raises(NotAllowed):
            check_known(key)
