"""Request signature: the published vectors, and what does not match."""

import pytest

from app.api_keys.credentials import hash_of, is_key_string, new_pair
from app.api_keys.signing_cli import KEY, SECRET, VECTORS, Vector
from app.core.secrets import request_signing
from tests.caller import signature


@pytest.mark.parametrize("vector", VECTORS)
def test_every_vector_gives_its_signature(vector: Vector) -> None:
    message = request_signing.string_to_sign(
        timestamp=vector.timestamp,
        nonce=vector.nonce,
        method=vector.method,
        target=vector.target,
        body=vector.body,
    )
    assert request_signing.sign(SECRET, message) == vector.signature
    assert request_signing.verify(SECRET, message, vector.signature.upper())


@pytest.mark.parametrize("vector", VECTORS)
def test_an_independent_client_makes_the_same_signature(vector: Vector) -> None:
    made = signature(
        SECRET, vector.timestamp, vector.nonce, vector.method, vector.target, vector.body
    )
    assert made == vector.signature


@pytest.mark.parametrize("wrong", ["", "zz" * 32, "ab" * 31, "ab" * 33, "ab" * 32, "ａ" * 64])
def test_any_other_signature_does_not_match(wrong: str) -> None:
    assert not request_signing.verify(SECRET, "message", wrong)


def test_the_sample_key_has_a_right_checksum_and_the_published_hash() -> None:
    assert is_key_string(KEY)
    assert hash_of(KEY) == "8dace520e1a3732bc6982fa116693104ae76b5120628325f90abef21a127cd49"


@pytest.mark.parametrize("position", [0, 5, 20, 40])
def test_one_changed_character_breaks_the_checksum(position: int) -> None:
    changed = KEY[:position] + ("A" if KEY[position] != "A" else "B") + KEY[position + 1 :]
    assert not is_key_string(changed)


def test_new_pairs_have_the_documented_form() -> None:
    pair = new_pair()
    assert is_key_string(pair.api_key)
    assert len(pair.api_key) == 41
    assert pair.secret.startswith("cqes_")
    assert len(pair.secret) == 54


def test_an_absolute_target_loses_scheme_and_host() -> None:
    assert request_signing.request_target("http://h:1/a//b?c=%2F") == "/a//b?c=%2F"
    assert request_signing.request_target("http://h") == "/"
    assert request_signing.request_target("/a/../b?") == "/a/../b?"
