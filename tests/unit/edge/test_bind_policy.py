"""P-28: loopback and unix sockets are safe; anything else needs TLS and a credential, or nothing starts."""

import pytest

from backscroll_sidecar.edge.bind_policy import Reach, check_exposure, parse_address
from backscroll_sidecar.errors import StartRefused

SAFE = [
    "127.0.0.1:0",
    "127.0.0.1:7171",
    "127.9.9.9:7171",
    "[::1]:7171",
    "[0:0:0:0:0:0:0:1]:7171",
    "[::ffff:127.0.0.1]:7171",
    "localhost:7171",
    "LOCALHOST:0",
    "unix:/run/backscroll.sock",
    "unix:///run/backscroll.sock",
    "unix:backscroll.sock",
]
EXPOSED = [
    "0.0.0.0:7171",
    "[::]:7171",
    ":7171",
    "*:7171",
    "10.0.0.5:7171",
    "192.168.1.20:7171",
    "172.16.0.1:7171",
    "169.254.1.1:7171",
    "8.8.8.8:7171",
    "[fe80::1]:7171",
    "[fd00::1]:7171",
    "[::ffff:10.0.0.5]:7171",
    "[::ffff:0.0.0.0]:7171",
    "example.org:7171",
    "bot-host:7171",
    "localhost.example.org:7171",
    "localhost.:7171",
    "127.1:7171",
    "0:7171",
    "2130706433:7171",
    "0x7f000001:7171",
]
NO_ADDRESS = [
    "",
    "7171",
    "127.0.0.1",
    "127.0.0.1:",
    "127.0.0.1:70000",
    "127.0.0.1:-1",
    "127.0.0.1:٣",
    "::1:7171",
    "[::1]",
    "[127.0.0.1]:7171",
    "[[::1]]:7171",
    "dns:///127.0.0.1:7171",
    "ipv4:127.0.0.1:7171",
    "unix-abstract:backscroll",
    "unix:",
    "unix://",
    "unix://host/path",
]


@pytest.mark.parametrize("address", SAFE)
def test_loopback_and_sockets_need_nothing(address: str) -> None:
    """P-28."""
    (found,) = check_exposure([address], has_tls=False, has_tokens=False)
    assert found.reach is not Reach.NETWORK


@pytest.mark.parametrize("address", EXPOSED)
@pytest.mark.parametrize(
    ("has_tls", "has_tokens", "setting"),
    [(False, False, "tls_cert"), (False, True, "tls_cert"), (True, False, "tokens_file")],
)
def test_the_network_needs_tls_and_a_credential(
    address: str, has_tls: bool, has_tokens: bool, setting: str
) -> None:
    """P-28: the error names the setting that is missing, and the address."""
    with pytest.raises(StartRefused) as caught:
        check_exposure(["127.0.0.1:0", address], has_tls=has_tls, has_tokens=has_tokens)
    assert caught.value.setting == setting
    assert f"BACKSCROLL_{setting.upper()}" in str(caught.value)
    assert parse_address(address).target in str(caught.value)


@pytest.mark.parametrize("address", EXPOSED)
def test_with_both_any_address_will_do(address: str) -> None:
    """P-28."""
    (found,) = check_exposure([address], has_tls=True, has_tokens=True)
    assert found.reach is Reach.NETWORK


@pytest.mark.parametrize("address", NO_ADDRESS)
def test_what_is_no_address_is_refused_even_with_both(address: str) -> None:
    with pytest.raises(StartRefused) as caught:
        check_exposure([address], has_tls=True, has_tokens=True)
    assert caught.value.setting == "listen"


def test_no_address_at_all_is_refused() -> None:
    with pytest.raises(StartRefused, match="names no address"):
        check_exposure([], has_tls=True, has_tokens=True)


def test_a_localhost_that_is_not_loopback_is_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hosts file can make anything of a name."""
    elsewhere = [(0, 0, 0, "", ("127.0.0.1", 0)), (0, 0, 0, "", ("10.0.0.5", 0))]
    monkeypatch.setattr("socket.getaddrinfo", lambda *args, **kwargs: elsewhere)
    with pytest.raises(StartRefused):
        check_exposure(["localhost:0"], has_tls=False, has_tokens=False)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("[::1]:7171", "[::1]:7171"),
        ("127.0.0.1:0", "127.0.0.1:0"),
        ("unix:///a/b", "unix:/a/b"),
        ("unix:a", "unix:a"),
    ],
)
def test_addresses_as_grpc_takes_them(text: str, target: str) -> None:
    assert parse_address(text).target == target
