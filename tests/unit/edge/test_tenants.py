"""The tenant comes from the credential (law 6)."""

from hashlib import sha256

import pytest

from backscroll_sidecar.edge.tenants import OneTenant, TokenTenants, read_tokens
from backscroll_sidecar.errors import StartRefused, Unauthenticated

TOKENS = TokenTenants({"s3cret": "acme", f"sha256:{sha256(b'other').hexdigest()}": "umbrella"})


def test_without_authentication_everybody_is_the_default_tenant() -> None:
    """Law 6."""
    assert OneTenant().resolve((("authorization", "Bearer x"),)) == "default"


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
    assert TOKENS.resolve((("x", "y"), ("authorization", header))) == tenant


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
