"""The tenant comes from the credential (law 6)."""

import asyncio
import tomllib
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.edge.keys import Key, Right, Table, keys_of
from backscroll_sidecar.edge.keys_file import follow_tokens, mark_of, read_tokens
from backscroll_sidecar.edge.keys_text import toml_of
from backscroll_sidecar.edge.tenants import OneTenant, TokenTenants
from backscroll_sidecar.errors import StartRefused, Unauthenticated

TOKENS = TokenTenants({"s3cret": "acme", f"sha256:{sha256(b'other').hexdigest()}": "umbrella"})


def test_without_authentication_everybody_is_the_default_tenant() -> None:
    """Law 6."""
    assert OneTenant().resolve((("authorization", "Bearer x"),)).tenant == "default"


@pytest.mark.parametrize(
    ("header", "tenant"),
    [
        ("Bearer s3cret", "acme"),
        ("bearer s3cret", "acme"),
        ("BEARER  s3cret ", "acme"),
        ("Bearer other", "umbrella"),
    ],
)
def test_a_known_token_is_its_tenant(header: str, tenant: str) -> None:
    """Law 6."""
    assert TOKENS.resolve((("x", "y"), ("authorization", header))).tenant == tenant


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("authorization", ""),),
        (("authorization", "s3cret"),),
        (("authorization", "Bearer"),),
        (("authorization", "Bearer "),),
        (("authorization", "Bearer s3cre"),),
        (("authorization", "Bearer S3CRET"),),
        (("authorization", "Basic s3cret"),),
        (("authorization", b"Bearer s3cret"),),
        (("authorization", "Bearer s3cret"), ("authorization", "Bearer other")),
        (("x-authorization", "Bearer s3cret"),),
        (("authorization", f"Bearer sha256:{sha256(b'other').hexdigest()}"),),
        (("authorization", "Bearer \udc80"),),
    ],
)
def test_anything_else_is_nobody(headers: tuple[tuple[str, str | bytes], ...]) -> None:
    """A digest out of the file is no token."""
    with pytest.raises(Unauthenticated) as caught:
        TOKENS.resolve(headers)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "tokens",
    [
        {},
        {"": "acme"},
        {"x": ""},
        {"x": "  "},
        {" x": "acme"},
        {"ключ": "acme"},
        {"a\nb": "acme"},
        {"sha256:abcd": "acme"},
        {"sha256:" + "z" * 64: "acme"},
    ],
)
def test_tokens_that_cannot_work_do_not_start(tokens: dict[str, str]) -> None:
    with pytest.raises(StartRefused) as caught:
        TokenTenants(tokens)
    assert caught.value.setting == "tokens_file"


def test_keys_expire_at_their_time() -> None:
    now_s = [1_000.0]
    tenants = TokenTenants(
        {"k": {"tenant": "a", "expires": datetime.fromtimestamp(2_000, UTC)}}, lambda: now_s[0]
    )
    header = (("authorization", "Bearer k"),)
    now_s[0] = 1_999.999
    assert tenants.resolve(header).tenant == "a"
    now_s[0] = 2_000.0
    with pytest.raises(Unauthenticated, match="expired at 1970-01-01T00:33:20Z"):
        tenants.resolve(header)


def test_other_keys_take_their_places_and_the_tenants_stay_known() -> None:
    """None at all is nobody: the last key can be revoked while a server runs."""
    tenants = TokenTenants({"k": "a"})
    tenants.use({"l": "b"})
    assert tenants.names == {"a", "b"}
    with pytest.raises(StartRefused):
        tenants.use({"m": ""})
    assert tenants.resolve((("authorization", "Bearer l"),)).tenant == "b"
    tenants.use({})
    with pytest.raises(Unauthenticated):
        tenants.resolve((("authorization", "Bearer l"),))


@pytest.mark.parametrize(
    "given",
    [
        {"tenant": "a", "channels": []},
        {"tenant": "a", "rights": []},
        {"tenant": "a", "rights": ["Read"]},
        {"tenant": "a", "channel": ["x"]},
        {"tenant": "a", "expires": datetime(2027, 1, 1)},  # noqa: DTZ001 - that is what is wrong
        {"tenant": "a", "expires": "never"},
        {"channels": ["x"]},
        3,
    ],
)
def test_a_limit_that_is_none_does_not_start(given: object) -> None:
    with pytest.raises(StartRefused):
        TokenTenants({"k": given})


def test_one_key_twice_must_permit_the_same() -> None:
    digest = f"sha256:{sha256(b'k').hexdigest()}"
    assert TokenTenants({"k": "a", digest: "a"}).names == {"a"}
    for other in ("b", {"tenant": "a", "rights": ["read"]}):
        with pytest.raises(StartRefused, match="twice"):
            TokenTenants({"k": "a", digest: other})
    with pytest.raises(StartRefused, match="name"):
        TokenTenants({"k": {"tenant": "a", "name": "n"}, "l": {"tenant": "a", "name": "n"}})


@given(
    st.text(min_size=1).filter(str.strip),
    st.text(),
    st.lists(st.text(min_size=1), min_size=1) | st.none(),
    st.sets(st.sampled_from(sorted(Right)), min_size=1) | st.none(),
    st.integers(0, 4_000_000_000) | st.none(),
)
def test_a_key_is_read_back_as_it_was_written(
    tenant: str,
    name: str,
    patterns: list[str] | None,
    rights: set[Right] | None,
    expires_s: int | None,
) -> None:
    digest = sha256(b"k").digest()
    key = Key(
        tenant,
        digest.hex()[:12],
        name,
        None if rights is None else frozenset(rights),
        None if patterns is None else AllowedChannels.of(patterns),
        tuple(patterns or ()),
        None if expires_s is None else expires_s * 1_000,
    )
    assert keys_of(tomllib.loads(toml_of(digest, key))["tokens"]) == {digest: key}


def test_a_tokens_file(tmp_path) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text('[tokens]\n"s3cret" = "acme"\n', encoding="utf-8")
    assert read_tokens(path) == {"s3cret": "acme"}


@pytest.mark.parametrize("text", ["", "tokens = 3", "[tokens]\na = 1", "[tok", "\xff"])
def test_a_tokens_file_that_is_none(tmp_path, text: str) -> None:
    path = tmp_path / "tokens.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(StartRefused) as caught:
        read_tokens(path)
    assert caught.value.setting == "tokens_file"


def test_a_tokens_file_that_is_not_there(tmp_path) -> None:
    with pytest.raises(StartRefused, match="BACKSCROLL_TOKENS_FILE"):
        read_tokens(tmp_path / "no.toml")


async def test_a_key_revoked_while_the_server_starts_is_revoked(tmp_path: Path) -> None:
    """What changed between the first reading of the file and the first look is taken."""
    path = tmp_path / "tokens.toml"
    path.write_text('[tokens]\n"a" = "acme"\n"b" = "acme"\n')
    mark, taken = mark_of(path), asyncio.Event()
    path.write_text('[tokens]\n"a" = "acme"\n')
    found: list[Table] = []

    def use(table: Table) -> None:
        found.append(table)
        taken.set()

    following = asyncio.create_task(follow_tokens(path, use, asyncio.Event(), mark))
    await taken.wait()
    following.cancel()
    assert found == [{"a": "acme"}]
