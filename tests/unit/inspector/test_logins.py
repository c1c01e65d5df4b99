"""Tries at the login: how many at once, how soon again, and of how many clients they are remembered."""

from backscroll_sidecar.inspector.logins import AT_ONCE, MOST_CLIENTS, SECONDS_EACH, Tries


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.at_s = 1_000.0

    def __call__(self) -> float:
        return self.at_s


def test_a_client_waits_for_one_try_at_a_time() -> None:
    clock = Clock()
    tries = Tries(clock)
    assert [tries.take("10.0.0.1") for _ in range(AT_ONCE)] == [0] * AT_ONCE
    assert tries.take("10.0.0.1") == SECONDS_EACH
    assert tries.take("10.0.0.2") == 0
    clock.at_s += SECONDS_EACH - 0.5
    assert tries.take("10.0.0.1") == 1
    clock.at_s += 0.5
    assert tries.take("10.0.0.1") == 0
    assert tries.take("10.0.0.1") == SECONDS_EACH
    clock.at_s += 3_600
    assert [tries.take("10.0.0.1") for _ in range(AT_ONCE + 1)] == [*[0] * AT_ONCE, SECONDS_EACH]


def test_a_right_token_counts_for_nothing() -> None:
    tries = Tries(Clock())
    for _ in range(5 * AT_ONCE):
        assert tries.take("::1") == 0
        tries.give_back("::1")


def test_a_network_of_ipv6_is_one_client() -> None:
    tries = Tries(Clock())
    for at in range(AT_ONCE):
        assert tries.take(f"2001:db8::{at:x}") == 0
    assert tries.take("2001:db8::ffff") > 0
    assert tries.take("2001:db8:0:1::1") == 0
    assert tries.take("::ffff:10.0.0.1") == 0


def test_few_clients_are_remembered() -> None:
    tries = Tries(Clock())
    for at in range(3 * MOST_CLIENTS):
        tries.take(f"10.0.{at // 256}.{at % 256}")
    assert len(tries) == MOST_CLIENTS
    tries.give_back("10.0.0.0")
    assert len(tries) == MOST_CLIENTS
