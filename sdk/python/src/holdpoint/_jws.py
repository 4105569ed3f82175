"""Checks the signature of a compact JWS of the service. It needs the package cryptography: pip install "holdpoint[grants]"."""

from __future__ import annotations

import base64
import importlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from . import types as doc
from .errors import HoldpointError

MAX_LENGTH = 64 << 10

# Makes the error for a text that the service did not sign.
Refusal = Callable[[str], HoldpointError]


def verified_payload(keys: doc.KeySet, text: str, purpose: str, refused: Refusal) -> bytes:
    """The payload of a compact JWS of the service for a purpose. The header has three members and no more, so nothing in it can
    ask for another way to verify."""
    ed25519: Any = importlib.import_module("cryptography.hazmat.primitives.asymmetric.ed25519")
    refusal: Any = importlib.import_module("cryptography.exceptions").InvalidSignature
    parts = text.split(".")
    if len(text) > MAX_LENGTH or len(parts) != 3:
        raise refused("it is not a compact JWS")
    header, payload, signature = (_decoded(part, refused) for part in parts)
    said = _object(header, refused)
    if said.keys() != {"alg", "kid", "typ"} or said["alg"] != "EdDSA" or said["typ"] != purpose:
        raise refused(f"its header is not that of {purpose!r}")
    for key in keys["keys"]:
        if (key.get("kid"), key.get("kty"), key.get("crv")) != (said["kid"], "OKP", "Ed25519"):
            continue
        try:
            public = ed25519.Ed25519PublicKey.from_public_bytes(_decoded(key["x"], refused))
            public.verify(signature, f"{parts[0]}.{parts[1]}".encode())
        except (ValueError, refusal) as failure:
            raise refused("its signature does not hold") from failure
        return payload
    raise refused(f"its key {said['kid']!r:.80} is not among those given")


def claims_in(payload: bytes, texts: Sequence[str], refused: Refusal) -> dict[str, Any]:
    """The claims in a payload, with these texts and with the times."""
    claims = _object(payload, refused)
    if not all(isinstance(claims.get(name), str) for name in texts) or not all(type(claims.get(name)) is int for name in ("iat", "exp")):
        raise refused("its claims cannot be read")
    return claims


def _decoded(text: str, refused: Refusal) -> bytes:
    """Decodes base64url that has one form: no padding, no spaces, no bits left over."""
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raw = b""
    if base64.urlsafe_b64encode(raw).decode().rstrip("=") != text:
        raise refused("it is not a compact JWS")
    return raw


def _object(text: bytes, refused: Refusal) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a member is there twice")
        return found

    try:
        value = json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as failure:
        raise refused("it cannot be read") from failure
    if not isinstance(value, dict):
        raise refused("it cannot be read")
    return value
