"""Checks grants without the service. verify_grant needs the package cryptography: pip install "holdpoint[grants]"."""

from __future__ import annotations

import decimal
import hashlib
import json
import math
import time
from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict, cast

from . import types as doc
from ._json import as_decoded, encode_json
from ._jws import claims_in, verified_payload
from .errors import HoldpointError, invalid

PURPOSE = "holdpoint-grant+jwt"


class GrantClaims(TypedDict):
    """What a grant says."""

    iss: str
    # The agent of the run, and the run.
    aud: str
    sub: str
    request_id: str
    tool_name: str
    # That of the input that may run, after edits and with what is sensitive of it in clear.
    input_digest: str
    fence: str
    # Seconds since the epoch; exp is the end of the lease when it was signed.
    iat: int
    exp: int
    # The handle of the approval: the same in every claim of the run.
    jti: str
    resolved_by: str
    rule_id: NotRequired[str]


def input_digest(value: Any) -> str:
    """Returns "sha256:" and the hexadecimal SHA-256 of the RFC 8785 form of a value, in which integers keep their digits. Raises invalid for one without a JSON form."""
    try:
        canonical = canonical_json(value).encode()
    except (TypeError, ValueError, OverflowError, RecursionError) as failure:
        raise invalid(f"the input has no JSON form that stays as it is: {failure}") from failure
    return "sha256:" + hashlib.sha256(canonical).hexdigest()


def verify_grant(keys: doc.KeySet, grant: str, tool: str, value: Any) -> GrantClaims:
    """Checks without the service that a grant, the text in the resolution of an allowed approval, allows a tool to run with an
    input, and returns what else it says. It does not say whether the grant was redeemed, or its lease lost since: redeem_grant
    does. To run each grant once without the service, keep the jti of every grant that ran. The keys are those of
    keys(); read them again when a key is not known, as replicas get new ones.

    Raises a HoldpointError of the kind invalid_grant (no grant that the service signed), grant_mismatch (for another tool or
    input), grant_expired or invalid; and ImportError without the package cryptography."""
    claims = cast(GrantClaims, claims_in(verified_payload(keys, grant, PURPOSE, _invalid_grant), _TEXTS, _invalid_grant))
    digest = input_digest(value)
    if claims["exp"] <= int(time.time()):
        raise HoldpointError(["grant_expired"], f"the grant has expired at {claims['exp']}")
    if claims["tool_name"] != tool:
        raise HoldpointError(["grant_mismatch"], f"the grant is for the tool {claims['tool_name']!r}")
    if claims["input_digest"] != digest:
        raise HoldpointError(["grant_mismatch"], f"the grant is for an input with the digest {claims['input_digest']}")
    return claims


def _invalid_grant(message: str) -> HoldpointError:
    return HoldpointError(["invalid_grant"], message)


_TEXTS = ("iss", "aud", "sub", "request_id", "tool_name", "input_digest", "fence", "jti", "resolved_by")


def canonical_json(value: Any) -> str:
    """The RFC 8785 form: members sorted by UTF-16, numbers as JavaScript writes them; but integers keep their digits."""
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, decimal.Decimal):
        decoded = as_decoded(value)
        return encode_json(decoded) if isinstance(decoded, decimal.Decimal) else canonical_json(decoded)
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise TypeError("a member's name is not text")
        names: list[str] = sorted(value, key=_utf16)
        return "{" + ",".join(f"{canonical_json(name)}:{canonical_json(value[name])}" for name in names) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(canonical_json, value)) + "]"
    raise TypeError(f"{type(value).__name__} is not JSON")


def _utf16(name: str) -> bytes:
    return name.encode("utf-16-be")


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError(f"{value} is not JSON")
    if value == 0:
        return "0"
    sign, digits, exponent = decimal.Decimal(repr(value)).normalize(decimal.Context(prec=20)).as_tuple()
    text, point = "".join(map(str, digits)), len(digits) + int(exponent)
    if 0 < point <= 21:
        text = text.ljust(point, "0") if point >= len(text) else f"{text[:point]}.{text[point:]}"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + text
    else:
        text = text[0] + ("." + text[1:] if len(text) > 1 else "") + f"e{point - 1:+d}"
    return "-" * sign + text
