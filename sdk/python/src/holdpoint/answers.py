"""Checks signed answers without the service. verify_answer needs the package cryptography: pip install "holdpoint[grants]"."""

from __future__ import annotations

import time
from typing import TypedDict, cast

from . import types as doc
from ._jws import claims_in, verified_payload
from .errors import HoldpointError
from .grants import input_digest

PURPOSE = "holdpoint-answer+jwt"


class AnswerClaims(TypedDict):
    """What the signature of an answer says."""

    iss: str
    # The agent of the run, and the run.
    aud: str
    sub: str
    request_id: str
    # That of the answers and the value, with what is sensitive in clear.
    answers_digest: str
    fence: str
    # Seconds since the epoch; exp is the end of the lease when the answer was read.
    iat: int
    exp: int
    # The handle of the question.
    jti: str
    # Who answered.
    resolved_by: str


_TEXTS = ("iss", "aud", "sub", "request_id", "answers_digest", "fence", "jti", "resolved_by")


def verify_answer(keys: doc.KeySet, resolution: doc.Answer) -> AnswerClaims:
    """Checks without the service that it signed the answers of a resolution, which the holder of the fence got, and returns what
    else the signature says. Compare sub and request_id with your run and request. answers and value are covered, with the texts of
    the questions and of the selected options, and so is resolved_by; summary, justification and runtime_payload are not. The keys
    are those of keys().

    Raises a HoldpointError of the kind invalid_answer or answer_expired; and ImportError without the package cryptography."""
    claims = cast(AnswerClaims, claims_in(verified_payload(keys, resolution.get("signature") or "", PURPOSE, _invalid), _TEXTS, _invalid))
    signed = {"answers": resolution.get("answers") or []}
    if "value" in resolution:
        signed["value"] = resolution["value"]
    try:
        digest = input_digest(signed)
    except HoldpointError as failure:
        raise _invalid("the answers have no JSON form") from failure
    if claims["exp"] <= int(time.time()):
        raise HoldpointError(["answer_expired"], f"the signature of the answer has expired at {claims['exp']}")
    if (resolution.get("outcome"), resolution.get("request_id"), resolution.get("resolved_by")) != ("answered", claims["request_id"], claims["resolved_by"]):
        raise _invalid(f"it is for request {claims['request_id']!r}, answered by {claims['resolved_by']!r}")
    if claims["answers_digest"] != digest:
        raise _invalid(f"it is for answers with the digest {claims['answers_digest']}")
    return claims


def _invalid(message: str) -> HoldpointError:
    return HoldpointError(["invalid_answer"], message)
