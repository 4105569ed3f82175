"""The client for asyncio. _sync.py has the same surface for programs without it, and is made from this file and _calls.py."""

from __future__ import annotations

import asyncio
import copy
import ssl
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Literal, cast

from . import types as doc
from ._appends import keyed_appends
from ._calls import Calls
from ._replies import CreatedRun, Page, RunResult, SessionResult
from ._stream import Kind, StreamItem, number_of, stream
from ._transport import MAX_WAIT_SECONDS, Reply, RetryPolicy, Transport, at, is_unanswered, key_of, new_id, now, with_id, without_none
from .errors import HoldpointError, invalid, is_kind, is_transient
from .grants import input_digest

TERMINAL = ("completed", "failed", "interrupted", "cancelled")
WAITING = ("waiting_for_approval", "waiting_for_user_question")


class AsyncHoldpoint(Calls):
    """Calls one holdpoint service. Bodies and replies are documents as they are on the wire; every call raises a HoldpointError."""

    def __init__(
        self,
        base_url: str,
        *,
        token: str | None = None,
        actor: str | None = None,
        via: str | None = None,
        retry: RetryPolicy = RetryPolicy(),
        timeout_seconds: float = 30.0,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        """base_url is such as "http://127.0.0.1:4000"; a path in it is put before every route. token is a bearer token. actor is who
        makes the decisions, via the program that makes them. timeout_seconds is how long one attempt may take beyond the wait it
        asks for."""
        self.transport = Transport(
            base_url, token=token, actor=actor, via=via, retry=retry, timeout=timeout_seconds, ssl_context=ssl_context,
        )

    def _patiently(self, lease: float) -> AsyncHoldpoint:
        """Returns a client whose calls outlast an unavailable service; see Transport.patiently."""
        patient = copy.copy(self)
        patient.transport = self.transport.patiently(lease)
        return patient

    async def close(self) -> None:
        """Closes the connections of the running event loop that no call uses."""
        self.transport.pool.close()

    async def __aenter__(self) -> AsyncHoldpoint:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # Runs

    async def create_run(self, body: Mapping[str, Any], *, idempotency_key: str | None = None) -> CreatedRun:
        """Makes a run. Without run_id a lost reply is made good by a key."""
        return await self._create_run("/v1/runs", body, idempotency_key)

    async def create_session_run(self, session_id: str, body: Mapping[str, Any], *, idempotency_key: str | None = None) -> CreatedRun:
        """Makes a run by the session's route, which takes neither session_id, claim nor suspend."""
        return await self._create_run(at("/v1/sessions", session_id, "runs"), body, idempotency_key)

    async def await_run(self, run_id: str, wait_seconds: float, *, until: Literal["decided", "terminal"] = "terminal") -> doc.RunView:
        """Returns a run as soon as it is where until says, or as it is after the wait of at most 60 s."""
        return cast(doc.RunView, await self._get(at("/v1/runs", run_id), {"until": until}, wait_seconds, ["run_id"]))

    async def wait_run(
        self, run_id: str, *, until: Literal["decided", "terminal"] = "terminal", timeout_seconds: float | None = None,
    ) -> doc.RunView:
        """Returns a run when it is where until says: over, or not waiting for a person (any more). It outlasts an unavailable
        service, or a proxy without one. Raises TimeoutError after timeout_seconds."""
        async with asyncio.timeout(timeout_seconds):
            pauses = self.transport.pauses()
            outlasts: Callable[[object], bool] = is_transient  # before the first reply, a proxy's 404 may mean that the URL is wrong
            while True:
                asked = now()
                try:
                    run = await self.await_run(run_id, MAX_WAIT_SECONDS, until=until)
                    outlasts = is_unanswered
                    if run["status"] in TERMINAL or (until == "decided" and run["status"] not in WAITING):
                        return run
                    await pauses.after_held(asked, MAX_WAIT_SECONDS)
                except HoldpointError as failure:
                    if not outlasts(failure):
                        raise
                    await pauses.after_anyway(failure)

    # Decisions

    async def approve(
        self,
        shown: Mapping[str, Any],
        *,
        updated_input: Any = None,
        reason: str | None = None,
        justification: str | None = None,
        remember: Literal["session", "always"] | None = None,
        remember_as: Literal["exact", "command", "prefix", "folder", "tool"] | None = None,
        remember_for_ms: int | None = None,
        idempotency_key: str | None = None,
    ) -> RunResult:
        """Allows one approval as it was shown (run_id and request, as lists have them): refused with approval_changed when another
        is open now."""
        return await self._decide(shown, idempotency_key, without_none(
            behavior="allow", updated_input=updated_input, reason=reason, justification=justification, remember=remember,
            remember_as=remember_as, remember_for_ms=remember_for_ms,
        ))

    async def deny(
        self,
        shown: Mapping[str, Any],
        *,
        reason: str | None = None,
        justification: str | None = None,
        remember: Literal["session", "always"] | None = None,
        remember_as: Literal["exact", "command", "prefix", "folder", "tool"] | None = None,
        remember_for_ms: int | None = None,
        idempotency_key: str | None = None,
    ) -> RunResult:
        """Denies one approval as it was shown. The reason reaches the agent."""
        return await self._decide(shown, idempotency_key, without_none(
            behavior="deny", reason=reason, justification=justification, remember=remember, remember_as=remember_as,
            remember_for_ms=remember_for_ms,
        ))

    async def answer(
        self,
        shown: Mapping[str, Any],
        answers: Sequence[doc.UserQuestionAnswer] | None = None,
        *,
        value: Any = None,
        justification: str | None = None,
        idempotency_key: str | None = None,
    ) -> RunResult:
        """Answers one question (run_id and request, as lists have them): answers for its structured questions, value for a typed
        one."""
        given = {"value": value} if answers is None else {"answers": list(answers)}
        resolution = {"request_id": shown["request"]["id"], **given, **without_none(justification=justification)}
        return await self.answer_run_question(shown["run_id"], cast(doc.UserQuestionResolution, resolution), idempotency_key=idempotency_key)

    async def decline(
        self, shown: Mapping[str, Any], *, justification: str | None = None, idempotency_key: str | None = None,
    ) -> RunResult:
        """Declines one question."""
        resolution = {"request_id": shown["request"]["id"], "declined": True, **without_none(justification=justification)}
        return await self.answer_run_question(shown["run_id"], cast(doc.UserQuestionResolution, resolution), idempotency_key=idempotency_key)

    # The calls of a worker, which makes them for a handler; use them only for a loop of your own.

    async def claim_runs(
        self,
        worker_id: str,
        *,
        agent_ids: Sequence[str] = (),
        max_runs: int = 1,
        lease_ms: int = 30_000,
        wait_ms: int = 0,
    ) -> list[doc.Claim]:
        """Returns runs with their leases; none when the wait ran out. Not repeated when its reply is lost."""
        if isinstance(agent_ids, str):  # a sequence of texts too: its letters
            raise invalid(f"agent_ids must be a list: [{agent_ids!r}]")
        body = {"worker_id": worker_id, "max_runs": max_runs, "lease_ms": lease_ms, "wait_ms": wait_ms}
        if agent_ids:
            body["agent_ids"] = list(agent_ids)
        reply = await self.transport.call("POST", "/v1/runs/claim", body=body, held=wait_ms / 1000, repeat="if_not_taken", needs=["claims"])
        return cast(list[doc.Claim], reply.value["claims"])

    async def claim_run(self, run_id: str, worker_id: str, *, lease_ms: int = 30_000) -> doc.Claim:
        """Claims this run. Not repeated when its reply is lost."""
        body = {"worker_id": worker_id, "lease_ms": lease_ms}
        path = at("/v1/runs", run_id, "claim")
        reply = await self.transport.call("POST", path, body=body, repeat="if_not_taken", needs=["run", "lease"])
        return cast(doc.Claim, reply.value)

    async def heartbeat(
        self, run_id: str, fence: str, *, lease_ms: int = 30_000, checkpoint: Any = None, settled_after: str | None = None,
    ) -> doc.HeartbeatReply:
        """Extends a lease, and stores a checkpoint when it is not None."""
        body = without_none(fence=fence, lease_ms=lease_ms, checkpoint=checkpoint, settled_after=settled_after)
        return cast(doc.HeartbeatReply, await self._work(at("/v1/runs", run_id, "heartbeat"), body, "expires_at_ms", "cancel_requested"))

    async def suspend(self, run_id: str, fence: str, suspension: Mapping[str, Any]) -> doc.SuspendReply:
        """Raises requests and waits for them. Unless hold is set or the reply has a resume, the lease has ended."""
        body = {**with_id(suspension, "suspension_id", "suspension"), "fence": fence}
        return cast(doc.SuspendReply, await self._work(at("/v1/runs", run_id, "suspend"), body, "run"))

    async def await_settled(self, run_id: str, fence: str, after: str, wait_seconds: float) -> doc.Settled:
        """Returns what was settled on a run after a cursor, as soon as there is something, or nothing after the wait. The first
        cursor is "0"."""
        query = {"fence": fence, "after": after}
        return cast(doc.Settled, await self._get(at("/v1/runs", run_id, "resume"), query, wait_seconds, ["settled", "after"]))

    async def append_events(
        self, run_id: str, fence: str, events: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None,
    ) -> str:
        """Adds events to the session's log and returns the id of the last. They are added once, even if the call is repeated
        because its reply was lost. More than 256 events or 512 KiB are sent in several calls, in order: after an error the events of
        the earlier calls are in the log. Each of several calls has the idempotency key with a suffix of five bytes."""
        last = ""
        for key, part in keyed_appends(events, idempotency_key or str(uuid.uuid4())):
            reply = await self._keyed(at("/v1/runs", run_id, "events"), {"fence": fence, "events": part}, key, needs=["last_event_id"])
            last = cast(str, reply.value["last_event_id"])
        return last

    async def _append_of_task(self, run_id: str, fence: str, events: Sequence[Mapping[str, Any]], key_of_all: str) -> None:
        """append_events with a key that is derived from the run and the events. A conflict then means that an earlier claim, with
        another fence, has appended them."""
        for key, part in keyed_appends(events, key_of_all):
            try:
                await self._keyed(at("/v1/runs", run_id, "events"), {"fence": fence, "events": part}, key, needs=["last_event_id"])
            except HoldpointError as failure:
                if not failure.is_kind("idempotency_conflict"):
                    raise

    async def release_run(
        self, run_id: str, fence: str, *, checkpoint: Any = None, last_error: str | None = None, attempt: int | None = None,
        delay_ms: int | None = None,
    ) -> doc.RunView:
        """Gives a run back unfinished; it is claimable at once. With last_error it is retried after delay_ms; attempt is how
        many attempts have failed, this one included. If the disk or the budget is exhausted, a checkpoint of more than 1 KiB
        is refused with its release, which then works without one."""
        body = without_none(fence=fence, checkpoint=checkpoint, last_error=last_error, attempt=attempt, delay_ms=delay_ms)
        return cast(doc.RunView, await self._work(at("/v1/runs", run_id, "release"), body, "run_id"))

    async def ask_parent(self, run_id: str, fence: str, body: Mapping[str, Any]) -> doc.AskParentReply:
        """Asks the parent's session on behalf of a run."""
        request = dict(body["request"])
        if not request.get("id") and not request.get("tool_call_id"):
            request["id"] = new_id("question")
        sent = {**body, "request": request, "fence": fence}
        return cast(doc.AskParentReply, await self._work(at("/v1/runs", run_id, "clarifications"), sent, "run"))

    # Sessions

    async def create_session(self, body: Mapping[str, Any] | None = None) -> doc.SessionView:
        """Makes a session, or returns the one that has the id. Without one the service names it, and a lost reply is made good by a key."""
        sent = {name: value for name, value in (body or {}).items() if name != "session_id" or value}
        reply = await self.transport.call("POST", "/v1/sessions", body=sent, key=key_of(sent, "session_id"), needs=["session_id"])
        return cast(doc.SessionView, reply.value)

    async def send_input(
        self, session_id: str, body: Mapping[str, Any], *, wait_seconds: float | None = None, idempotency_key: str | None = None,
    ) -> SessionResult:
        """Makes a run in the session and waits until it waits for a person or ends, 30 s when no wait is given and 60 s at most."""
        key = key_of(body, "run_id", idempotency_key)
        path = at("/v1/sessions", session_id, "input")
        needs = ["session_id", "status"]
        return SessionResult.of(await self.transport.call("POST", path, body=dict(body), key=key, prefer=wait_seconds, held=30.0, needs=needs))

    # Lists: a page by itself, or an iterator over all pages. Filters that are left out choose all.

    async def list_approvals(
        self, *, session_id: str | None = None, below: bool = False, limit: int | None = None, cursor: str | None = None,
    ) -> Page[doc.PendingApprovalView]:
        """Open approvals; an unknown session has none. below: also those of the sessions below it, its children, their children, and so on."""
        return await self._page(*_pending("approvals", session_id, below), limit, cursor)

    def all_approvals(self, *, session_id: str | None = None, below: bool = False) -> AsyncIterator[doc.PendingApprovalView]:
        return self._walk(*_pending("approvals", session_id, below))

    async def list_questions(
        self, *, session_id: str | None = None, below: bool = False, limit: int | None = None, cursor: str | None = None,
    ) -> Page[doc.PendingQuestionView]:
        """Open questions; an unknown session has none. below: also those of the sessions below it, its children, their children, and so on."""
        return await self._page(*_pending("questions", session_id, below), limit, cursor)

    def all_questions(self, *, session_id: str | None = None, below: bool = False) -> AsyncIterator[doc.PendingQuestionView]:
        return self._walk(*_pending("questions", session_id, below))

    async def list_session_events(self, session_id: str, *, after: str | None = None, limit: int | None = None) -> list[doc.RunEventEntry]:
        return (await self._events(at("/v1/sessions", session_id, "events"), after, limit)).value  # type: ignore[no-any-return]

    def all_session_events(self, session_id: str, *, after: str | None = None) -> AsyncIterator[doc.RunEventEntry]:
        return self._walk_events(at("/v1/sessions", session_id, "events"), after)

    async def list_run_events(self, run_id: str, *, after: str | None = None, limit: int | None = None) -> list[doc.RunEventEntry]:
        return (await self._events(at("/v1/runs", run_id, "events"), after, limit)).value  # type: ignore[no-any-return]

    def all_run_events(self, run_id: str, *, after: str | None = None) -> AsyncIterator[doc.RunEventEntry]:
        return self._walk_events(at("/v1/runs", run_id, "events"), after)

    async def all_outputs(self, run_id: str) -> AsyncIterator[doc.OutputEntry]:
        """The output records of a run, oldest first. A run's view shows only the newest."""
        after: str | None = None
        while True:
            page = await self._get(at("/v1/runs", run_id, "outputs"), {"after": after}, needs=["items"])
            for entry in page["items"]:
                yield entry
            if page["next_after"] in (None, after):
                return
            after = page["next_after"]

    # Streams

    def stream_session(self, session_id: str, *, after: str = "") -> AsyncIterator[StreamItem[doc.SessionView]]:
        """Follows a session: a snapshot, and then every event after it, in order and each once. It connects again by itself after a
        cut, and ends after the last event of a session that has ended. With after it goes on from there, without a snapshot."""

        async def is_complete(last: str) -> bool:
            session = await self.get_session(session_id)
            return bool(session["status"] == "ended" and session["last_event_id"] == number_of(last))

        path = at("/v1/sessions", session_id, "stream")
        # The end of a session is not an event.
        kind = Kind(path, True, lambda session: bool(session["status"] == "ended"), lambda _entry, _name: False, is_complete)
        return stream(self.transport, kind, after)

    def stream_run(self, run_id: str, *, after: str = "") -> AsyncIterator[StreamItem[doc.RunView]]:
        """Follows a run like stream_session. It ends after the event that ends the run; a failure that was retried does not end it."""

        async def is_complete(last: str) -> bool:
            if (await self.get_run(run_id))["status"] not in TERMINAL:
                return False
            try:
                return not await self.list_run_events(run_id, after=last, limit=1)
            except HoldpointError as error:
                if not is_kind(error, "cursor_reset"):
                    raise
                return False  # the next connection says so, with a snapshot

        kind = Kind(
            at("/v1/runs", run_id, "stream"), True, lambda run: run["status"] in TERMINAL,
            # A run that failed may have been retried.
            lambda entry, name: entry["run_id"] == run_id and name in TERMINAL and name != "failed", is_complete,
        )
        return stream(self.transport, kind, after)

    def stream_inbox(self) -> AsyncIterator[StreamItem[doc.InboxView]]:
        """Follows what is open in all sessions: a snapshot, and then every event about a request. It connects again by itself and has
        no end. A snapshot replaces everything before it. Events may come twice, and may be part of the snapshot already."""

        async def is_complete(_last: str) -> bool:
            return False

        return stream(self.transport, Kind("/v1/stream", False, lambda _view: False, lambda _entry, _name: False, is_complete), "")

    # Rules, mailboxes, effects, tokens

    async def add_rule(self, rule: Mapping[str, Any]) -> doc.Rule:
        return cast(doc.Rule, await self._work("/v1/rules", with_id(rule, "rule_id", "rule"), "rule_id"))

    async def redeem_grant(self, grant: str, value: Any, *, idempotency_key: str | None = None) -> doc.Redemption:
        """Redeems a grant, once, under the lease with which it came; value is the input that is about to run. Call it just before
        doing what was approved, and do it only when nothing was raised. After unavailable it may be redeemed: only the same call
        with the same key says."""
        body = {"grant": grant, "input_digest": input_digest(value)}
        return cast(doc.Redemption, (await self._keyed("/v1/grants/redeem", body, idempotency_key, needs=["jti"])).value)

    async def ready(self) -> None:
        """Returns when the service and its database can be used, else raises. Not repeated."""
        await self.transport.call("GET", "/readyz", repeat="never")

    # What the calls above are made of

    async def _create_run(self, path: str, body: Mapping[str, Any], key: str | None) -> CreatedRun:
        reply = await self.transport.call("POST", path, body=dict(body), key=key_of(body, "run_id", key), needs=_created)
        if "run" not in reply.value:
            return CreatedRun(reply.value, None, reply.replayed, reply.status == 200)
        claim = reply.value
        held, taken = claim["run"].get("lease"), claim["lease"]
        # A repeated call shows the lease that it took the first time, which may have ended.
        still = held and held["worker_id"] == taken["worker_id"] and held["expires_at_ms"] == taken["expires_at_ms"]
        return CreatedRun(claim["run"], claim if still else None, reply.replayed, reply.status == 200)

    async def _decide(self, shown: Mapping[str, Any], key: str | None, resolution: dict[str, Any]) -> RunResult:
        request = shown["request"]
        resolution["request_id"] = request["id"]
        resolution |= {name: request[name] for name in ("handle", "input_digest") if request.get(name)}
        return await self.resolve_run_approvals(shown["run_id"], [cast(doc.ApprovalResolution, resolution)], idempotency_key=key)

    async def _get(
        self, path: str, query: Mapping[str, Any] | None = None, prefer: float | None = None, needs: Sequence[str] = (),
    ) -> Any:
        return (await self.transport.call("GET", path, query=query, prefer=prefer, needs=needs)).value

    async def _work(self, path: str, body: Any, *needs: str) -> Any:
        """Makes a call that renews a lease, or changes a run, a session or a rule. A reply without the members of such a reply renews
        and ends nothing."""
        return (await self.transport.call("POST", path, body=body, needs=needs)).value

    async def _keyed(self, path: str, body: Any, key: str | None, needs: Sequence[str] = ()) -> Reply:
        return await self.transport.call("POST", path, body=body, key=key or str(uuid.uuid4()), needs=needs)


def _created(reply: Any) -> Sequence[str]:
    """Returns the members of a reply that has made a run: a claim, or the run."""
    return ["run", "lease"] if "run" in reply else ["run_id", "status"]


def _pending(noun: str, session_id: str | None, below: bool) -> tuple[str, dict[str, Any]]:
    """Returns the path and the query of a list of open requests."""
    if session_id is None or below:
        return f"/v1/{noun}", {"session_id": session_id}
    return at("/v1/sessions", session_id, noun), {}
