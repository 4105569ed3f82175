"""The errors of this package. Every one is a HoldpointError, but asyncio's own and TimeoutError."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

from .types import Fault, PendingApprovalRef, RecordedDecision, Redemption, Resolution

Kind = Literal[
    "not_found", "conflict", "invalid", "already_decided", "expired", "lease_lost", "run_not_claimable", "run_state", "not_waiting",
    "approval_changed", "session_busy", "session_ended", "no_parent", "id_conflict", "idempotency_conflict", "cursor_reset",
    "invalid_grant", "grant_mismatch", "grant_expired", "grant_redeemed", "invalid_answer", "answer_expired", "unauthorized", "forbidden", "rate_limited", "unavailable", "suspended", "cancelled", "worker_stopped",
    "not_allowed",
]
"""What an error means to a caller. An error may be of several kinds: a late answer is `conflict`, `already_decided` and perhaps
`expired` at once. `unavailable` says that the service could not be reached or could not answer: a call that changes something may or
may not have taken effect. `suspended`, `cancelled` and `worker_stopped` end a handler early. `not_allowed` says that an
approval was denied or has expired."""


class HoldpointError(Exception):
    """An error of this package; kinds says what it means."""

    def __init__(self, kinds: Iterable[Kind], message: str) -> None:
        super().__init__(message)
        self.kinds: frozenset[str] = frozenset(kinds)

    def is_kind(self, kind: Kind) -> bool:
        return kind in self.kinds


def is_kind(thrown: object, kind: Kind) -> bool:
    """Whether what was raised is an error of this package and of the kind."""
    return isinstance(thrown, HoldpointError) and kind in thrown.kinds


class ProblemError(HoldpointError):
    """The service refused the call: a problem document."""

    def __init__(self, status: int, document: dict[str, Any], retry_after: float = 0) -> None:
        self.status = status
        self.code: str = document.get("code", "")
        """The stable name of the error; "" when something in between answered without a document."""
        self.domain: str = document.get("domain", "")
        self.detail: str = document.get("detail", "")
        """For people."""
        self.faults: Sequence[Fault] = document.get("errors", [])
        """The members at fault, each with a JSON pointer."""
        self.recorded_decision: RecordedDecision | None = document.get("recorded_decision")
        """The decision before this call, when the call was late."""
        self.pending_approval: PendingApprovalRef | None = document.get("pending_approval")
        """The approval that is open now, of `approval_changed`."""
        self.redemption: Redemption | None = document.get("redemption")
        """The first redemption, of `grant_redeemed`."""
        self.first_kept_event_id: str | None = document.get("first_kept_event_id")
        """The oldest event that is kept, of `event_cursor_reset`."""
        self.left: int | None = document.get("left")
        """How many tries of a code are left after a wrong one."""
        self.retry_after = retry_after
        """How many seconds the service asked to wait; 0 without a Retry-After."""
        self.lost = False
        """An earlier attempt of the same call had no reply of the service, so the call may have taken effect although this attempt was
        refused. The error is then also `unavailable`."""
        kinds: set[Kind] = {kind for kind in (_BY_STATUS.get(status), _BY_CODE.get(self.code)) if kind}
        if self.recorded_decision:
            kinds.add("already_decided")
            if self.recorded_decision["outcome"] == "expired":
                kinds.add("expired")
        super().__init__(kinds, ": ".join(filter(None, [self.code or f"HTTP {status}", self.detail])))

    @property
    def pointer(self) -> str | None:
        """The JSON pointer of the first member at fault."""
        return self.faults[0]["pointer"] if self.faults else None


_BY_STATUS: dict[int, Kind] = {
    400: "invalid", 401: "unauthorized", 403: "forbidden", 404: "not_found", 409: "conflict", 413: "invalid", 415: "invalid",
    422: "invalid", 429: "rate_limited", 502: "unavailable", 503: "unavailable", 504: "unavailable",
}

_BY_CODE: dict[str, Kind] = {
    "question_expired": "expired",
    "lease_lost": "lease_lost",
    "run_not_claimable": "run_not_claimable",
    "run_state_conflict": "run_state",
    "approval_state_conflict": "not_waiting",
    "question_state_conflict": "not_waiting",
    "approval_request_not_pending": "not_waiting",
    "question_request_mismatch": "not_waiting",
    "question_resolution_conflict": "not_waiting",
    "approval_changed": "approval_changed",
    "session_busy": "session_busy",
    "session_ended": "session_ended",
    "no_parent_session": "no_parent",
    "id_conflict": "id_conflict",
    "idempotency_conflict": "idempotency_conflict",
    "event_cursor_reset": "cursor_reset",
    "invalid_grant": "invalid_grant",
    "grant_mismatch": "grant_mismatch",
    "grant_expired": "grant_expired",
    "grant_redeemed": "grant_redeemed",
}


class UnavailableError(HoldpointError):
    """There was no whole reply."""

    def __init__(self, message: str, *, not_sent: bool = False) -> None:
        super().__init__(["unavailable"], message)
        self.not_sent = not_sent
        """Whether no attempt of the call reached the service, for certain."""


def after_lost(failure: HoldpointError) -> None:
    """Notes in the last failure of a call that an earlier attempt may have taken effect. The service checks the credential and the
    limits before it looks for an earlier attempt, so such a refusal does not say what became of it. What it does not find may be
    deleted by that attempt, or since then out of the token's scope."""
    if isinstance(failure, UnavailableError):
        failure.not_sent = False
    elif isinstance(failure, ProblemError) and (not failure.code or failure.status >= 500 or failure.status in (401, 403, 404, 408, 429)):
        failure.lost = True
        failure.kinds |= {"unavailable"}
        failure.args = (f"{failure}; an earlier attempt had no reply and may have taken effect",)


class Suspended(HoldpointError):
    """The run waits, and is claimed again when it may go on. A handler lets it through."""

    def __init__(self) -> None:
        super().__init__(["suspended"], "the run is suspended; let this error through")


class NotAllowed(HoldpointError):
    """An approval was settled and does not allow its call. A handler that lets it through fails the run without a retry."""

    def __init__(self, tool: str, resolution: Any) -> None:
        by = f" by {resolution['resolved_by']}" if resolution["outcome"] == "denied" and resolution.get("resolved_by") else ""
        why = f": {resolution['reason']}" if resolution.get("reason") else ""
        super().__init__(["not_allowed"], f"{tool} was not allowed: {resolution['outcome']}{by}{why}")
        self.resolution: Resolution = resolution
        """Says who decided and why."""


class Cancelled(HoldpointError):
    """The run was cancelled or interrupted."""

    def __init__(self) -> None:
        super().__init__(["cancelled"], "the run was cancelled")


class LeaseLost(HoldpointError):
    """The lease could not be kept: another worker may have the run."""

    def __init__(self, message: str) -> None:
        super().__init__(["lease_lost"], message)


class WorkerStopped(HoldpointError):
    """The worker stops, and the handler did not finish in time. The run is released."""

    def __init__(self) -> None:
        super().__init__(["worker_stopped"], "the worker is stopping")


class AttemptFailed(HoldpointError):
    """What a worker reports when a handler raised; __cause__ is what it raised."""

    def __init__(self, run_id: str, attempt: int, last: bool, text: str) -> None:
        super().__init__([], f"run {run_id}: attempt {max(attempt, 1)} failed{', which was the last' if last else ', to be retried'}: {text}")
        self.run_id = run_id
        self.attempt = attempt
        """Counts the attempts that failed so far."""
        self.last = last
        """The run has failed, and is not retried."""


def of_run(run_id: str, what: str, cause: BaseException) -> HoldpointError:
    """What a worker reports about a run: an error of the same kinds, with its __cause__."""
    kinds = cause.kinds if isinstance(cause, HoldpointError) else frozenset[str]()
    reported = HoldpointError(cast(Iterable[Kind], kinds), f"run {run_id}: {what}: {text_of(cause)}")
    reported.__cause__ = cause
    return reported


def text_of(raised: BaseException) -> str:
    """Returns the text of an exception; the name of its type when it has none, or when its __str__ fails."""
    try:
        return str(raised) or type(raised).__name__
    except Exception:  # noqa: BLE001 - whatever a handler's own class raises
        return type(raised).__name__


def invalid(message: str) -> HoldpointError:
    """Returns the error of an argument that was refused before anything was sent."""
    return HoldpointError(["invalid"], message)


def is_transient(thrown: object) -> bool:
    """Whether the same call may succeed later."""
    return is_kind(thrown, "unavailable") or is_kind(thrown, "rate_limited")
