"""Reads decisions by request id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from . import types as doc
from .errors import HoldpointError, NotAllowed


def approval_of(resume: doc.Resume, request_id: str) -> doc.SettledApproval | None:
    """Returns the approval with a request id; None if the decisions do not include it."""
    return next((settled for settled in resume["approvals"] if settled["request"]["id"] == request_id), None)


def question_of(resume: doc.Resume, request_id: str) -> doc.SettledQuestion | None:
    """Returns the question request with an id; None if the decisions do not include it."""
    return next((settled for settled in resume["questions"] if settled["request"].get("id") == request_id), None)


def approved(resume: doc.Resume, request_id: str) -> Any:
    """Returns the input that may run, with the approver's edits. Raises NotAllowed if the approval was denied or has expired; a
    handler that lets it through fails the run without a retry. Raises another error if no approval has this request id."""
    settled = approval_of(resume, request_id)
    if settled is None:
        raise HoldpointError(["not_found"], f'no decision about an approval "{request_id}"')
    return approved_input(cast(Mapping[str, Any], settled))


def approved_input(settled: Mapping[str, Any]) -> Any:
    request, resolution = settled["request"], settled["resolution"]
    if resolution["outcome"] != "allowed" or resolution.get("behavior") != "allow":
        raise NotAllowed(request["tool_name"], resolution)
    return resolution["updated_input"] if "updated_input" in resolution else request["input"]
