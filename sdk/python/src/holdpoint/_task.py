"""One claimed run, as its handler has it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from . import types as doc
from ._approved import approved_input
from ._async import AsyncHoldpoint
from ._emitted import Emitted, copied
from ._json import encode_json
from ._lease import Lease
from ._match import require_same
from ._transport import new_id, now
from ._waits import Waits, by_request, decisions_on
from .errors import Cancelled, HoldpointError, Suspended, invalid

RELEASE_SECONDS = 5.0
"""Bounds the call that releases a run when the worker stops. Its run is claimable when the lease lapses."""


class AsyncTask:
    """One claimed run. Its methods may be called at once, until the handler has returned. Every method that calls the service raises
    the errors of that call; after lease_lost and cancelled the task was stopped too. While the service cannot be reached, a call is
    repeated for as long as the lease lasts. Then it raises lease_lost, and the run is left to the next claim."""

    def __init__(self, client: AsyncHoldpoint, claim: doc.Claim, *, lease_ms: int, poll_seconds: float) -> None:
        self._client = client
        self.claim = claim
        self._lease = Lease(client, claim, lease_ms)
        self._waits = Waits(self._lease, poll_seconds)
        self._lease.on_over = self._waits.end
        self._emitted = Emitted(claim["run"], encode_json(claim["checkpoint"]) if "checkpoint" in claim else "")
        self._waits.add(claim.get("resume"))

    @property
    def run(self) -> doc.RunView:
        """The run as it was claimed."""
        return self.claim["run"]

    @property
    def run_id(self) -> str:
        return self.claim["run"]["run_id"]

    @property
    def session_id(self) -> str:
        return self.claim["run"]["session_id"]

    @property
    def attempt(self) -> int:
        """Counts the claims since the last suspension, from 1."""
        return self.claim["attempt"]

    @property
    def fence(self) -> str:
        """The fence of the lease, for calls on the client."""
        return self.claim["lease"]["fence"]

    @property
    def input(self) -> Any:
        return self.claim["input"]

    @property
    def checkpoint(self) -> Any:
        """The newest checkpoint as it was claimed; None when there was none."""
        return self.claim.get("checkpoint")

    @property
    def resume(self) -> doc.Resume | None:
        """What was settled since the run was suspended, or since its last checkpoint."""
        return self.claim.get("resume")

    @property
    def stopped(self) -> HoldpointError | None:
        """Why the handler must not go on: lease_lost, cancelled or worker_stopped. An async handler is cancelled as well."""
        return self._lease.stopped

    @property
    def ended(self) -> bool:
        """Whether a call of this task ended the lease."""
        return self._lease.ended is not None

    @property
    def ending(self) -> bool:
        """Whether the lease has ended, or may have, by a call of this task."""
        return self._lease.ending

    def renewed(self, expires: float) -> None:
        """Notes when the lease ends unless it is renewed again. The worker calls it."""
        self._lease.expires = expires

    def lease_seconds_left(self) -> float:
        """How long the lease lasts unless it is renewed. The worker asks."""
        return self._lease.expires - now()

    def lost(self) -> HoldpointError | None:
        """Why the lease is not this task's any more; None while it is. The worker asks."""
        return self._lease.lost()

    def interrupted(self) -> bool:
        """Whether a wait for a person ended because the worker stops. The worker asks."""
        return self._waits.interrupted

    def on_stop(self, call: Callable[[HoldpointError], None]) -> None:
        """Makes the call once the handler must not go on. The worker calls it."""
        self._lease.on_stop = call

    def drain(self) -> None:
        """Ends the waits for people. Their requests stay open for the next worker that claims the run. The worker calls it."""
        self._waits.drain()

    def stop(self, reason: HoldpointError) -> None:
        """Ends the handler. The worker calls it."""
        self._lease.stop(reason)

    async def approve(self, request: Mapping[str, Any], *, timeout_seconds: float | None = None) -> doc.Resolution:
        """Asks for approval and waits in place until it is settled; several callers may do so at once. Only the behavior "allow"
        allows anything, and then updated_input, when there is one, replaces the input.

        A request with this id that was settled before, or is open, in this run is not raised again: its decision is returned. So a
        handler with stable ids may begin from the top after a crash. The tool and the input must be the same, else id_conflict.

        After timeout_seconds, or when the caller is cancelled, the request is withdrawn; when the task was stopped, it stays open for
        the next worker that claims the run. It also stays open when the worker stops: then the wait ends at once with
        WorkerStopped. When the run was cancelled or the lease is lost it raises that, and returns no decision, not even one that is
        known."""
        return cast(doc.Resolution, (await self._waits.until(self._named(request, "approval"), timeout_seconds))["resolution"])

    async def approve_input(self, request: Mapping[str, Any], *, timeout_seconds: float | None = None) -> Any:
        """Asks for approval and waits in place, like approve, and returns the input that may run, with the approver's edits. Raises
        NotAllowed if the approval was denied or has expired; a handler that lets it through fails the run without a retry."""
        return approved_input(await self._waits.until(self._named(request, "approval"), timeout_seconds))

    async def ask(self, request: Mapping[str, Any], *, timeout_seconds: float | None = None) -> doc.Answer:
        """Asks a question and waits in place until it is settled, as approve does. A question that expires ends its run."""
        return cast(doc.Answer, (await self._waits.until(self._named(request, "question"), timeout_seconds))["resolution"])

    async def suspend(self, suspension: Mapping[str, Any]) -> doc.Resume:
        """Raises requests, ends the lease and raises Suspended, which the handler lets through. The handler is called again once
        everything is settled. Each request needs an id; a missing tool_call_id is set to it. approved returns the input of an approval
        that may run.

        When everything that it asks for was settled before, by these same requests with these same ids, or is settled at once by
        standing rules, it returns the decisions instead. So a handler may begin from the top every time."""
        if suspension.get("hold"):
            raise invalid("to wait with the lease, use approve and ask")
        if known := self._waits.settled_before(suspension):
            return known
        sent = dict(suspension)
        for noun in ("approvals", "questions"):
            if noun in sent:
                sent[noun] = [{**one, "tool_call_id": one.get("tool_call_id") or one.get("id", "")} for one in sent[noun]]
        if "checkpoint" in sent:
            sent = copied("suspend", sent)
            if "settled_after" not in sent and (included := await self._waits.included()) is not None:
                sent["settled_after"] = included

        async def call() -> tuple[doc.SuspendReply, bool]:
            reply = await self._lease.while_leased(self._client.suspend(self.run_id, self.fence, sent))
            # Without a lease the run is claimable again, whatever was settled at once.
            return reply, "resume" not in reply or "lease" not in reply["run"]

        try:
            reply = await self._lease.end(Suspended(), call)
        except HoldpointError as failure:
            if not failure.is_kind("id_conflict"):
                raise
            await self._waits.read_history()
            if history := self._waits.settled_before(suspension):
                return history
            raise
        if "resume" not in reply or "lease" not in reply["run"]:
            raise Suspended
        if not decisions_on(sent, by_request(reply["resume"])):
            raise HoldpointError([], "the reply to the suspension lacks a decision about one of its requests")
        self._waits.add_reply(reply["resume"])
        if sent.get("checkpoint") is not None:
            self._emitted.checkpointed(sent["checkpoint"])
        return reply["resume"]

    async def ask_parent(self, body: Mapping[str, Any]) -> doc.ClarificationAnswer | None:
        """Asks the parent's session. With park it ends the lease and raises Suspended; the handler is called again once there is an
        answer, and then the same call returns it. Without, it returns None, and the answer comes into the session's mailbox.
        While that mailbox is full it raises an error with the code mailbox_full."""
        if not body.get("park"):
            await self._lease.calling(self._client.ask_parent(self.run_id, self.fence, body))
            return None
        tool_call = body["request"].get("tool_call_id")
        identity = body["request"].get("id") or (f"question-request-{tool_call}" if tool_call else "")
        if not identity:
            raise invalid("a question that the run is parked for needs an id")
        request = {**body["request"], "id": identity}
        resume = cast(dict[str, Any], self.resume or {})
        if resume.get("clarification", {}).get("request_id") == identity:
            return await self._answered(request)

        async def call() -> tuple[None, bool]:
            reply = await self._lease.while_leased(self._client.ask_parent(self.run_id, self.fence, {**body, "request": request}))
            return None, "lease" not in reply["run"]

        try:
            await self._lease.end(Suspended(), call)
        except HoldpointError as failure:
            if not failure.is_kind("id_conflict"):
                raise
            # It may be the same question with another checkpoint.
            await self._waits.read_history()
            if identity not in self._waits.settled:
                raise
        if self.ended:
            raise Suspended
        return await self._answered(request)

    async def redeem_grant(self, resolution: doc.Resolution, value: Any) -> doc.Redemption:
        """Redeems the grant of an approval that approve, or the claim's resume, returned, just before the task does what was
        approved; value is the input that is about to run. Raises grant_redeemed also when the claim shows that a worker before was
        about to: find out what ran."""
        grant = resolution.get("grant")
        if isinstance(grant, str):
            return await self._lease.calling(self._client.redeem_grant(grant, value))
        if grant and grant.get("redeemed_at_ms"):
            raise HoldpointError(["grant_redeemed"], f"it was redeemed before, under fence {grant.get('fence')}")
        raise HoldpointError(["invalid_grant"], f"request {resolution['request_id']} was {resolution['outcome']} and has no grant")

    async def save_checkpoint(self, checkpoint: Any) -> None:
        """Stores a checkpoint, which a later claim returns. It counts as including the decisions that were returned before. None is
        not a checkpoint: it only renews the lease, and the stored checkpoint stays."""
        stored = copied("save_checkpoint", checkpoint)
        included = None if stored is None else await self._waits.included()
        beat = await self._lease.calling(self._client.heartbeat(
            self.run_id, self.fence, lease_ms=self._lease.ms, checkpoint=stored, settled_after=included,
        ))
        if stored is not None:
            self._emitted.checkpointed(stored)
        if beat["cancel_requested"]:
            self.stop(Cancelled())
            raise Cancelled

    async def complete(self, output: Any = None) -> None:
        """Ends the run with an output. Open requests are recorded expired."""
        await self.end_with(self._client.complete_run(self.run_id, self.fence, output))

    async def fail(self, message: str) -> None:
        """Ends the run with an error text. Open requests are recorded expired."""
        await self.end_with(self._client.fail_run(self.run_id, self.fence, failure_text(message)))

    async def emit(self, *events: Mapping[str, Any]) -> None:
        """Appends events, each with a type, to the session's log. They are appended once, even if the call is repeated because its
        reply was lost, and even if the handler starts from the top again: the n-th call with the same events since the same checkpoint
        appends nothing if an earlier claim of the run has appended them, within the time that the service remembers idempotency keys.
        To append equal events in each claim, add a member that differs, such as the fence."""
        if events:
            given = copied("emit", events)
            await self._lease.calling(self._client._append_of_task(self.run_id, self.fence, given, self._emitted.key(given)))

    async def output(self, content: str) -> None:
        """Appends a piece of output, once, as emit does. The run and the session then show it."""
        await self.emit({"type": "output", "content": content})

    async def end_with(self, call: Awaitable[Any]) -> None:
        """Makes a call that ends the lease when it succeeds. The worker calls it."""

        async def ending() -> tuple[None, bool]:
            await self._lease.while_leased(call)
            return None, True

        await self._lease.end(_ended_error(), ending)

    async def release(self) -> None:
        """Gives the run back because the worker stops. The worker calls it."""
        async with asyncio.timeout(RELEASE_SECONDS):
            await self.end_with(self._client.release_run(self.run_id, self.fence))

    async def close(self) -> None:
        """Ends the waits that the handler left behind, and waits for what the task started. The worker calls it."""
        self._lease.close(_ended_error())
        await self._waits.over()

    @staticmethod
    def _named(request: Mapping[str, Any], kind: str) -> dict[str, Any]:
        identity = request.get("id") or new_id(kind)
        return {**copied(kind, request), "id": identity, "tool_call_id": request.get("tool_call_id") or identity}

    async def _answered(self, request: Mapping[str, Any]) -> doc.ClarificationAnswer:
        await self._waits.read_history()
        settled = self._waits.settled.get(request["id"])
        if settled is None:
            raise HoldpointError([], f"question {request['id']} is neither open nor settled")
        require_same(settled["request"], request)
        names = ("request_id", "declined", "summary", "answers", "justification", "value", "runtime_payload")
        answer = {name: settled["resolution"][name] for name in names if name in settled["resolution"]}
        if "traceparent" in settled["request"]:
            answer["traceparent"] = settled["request"]["traceparent"]
        return cast(doc.ClarificationAnswer, answer)


def _ended_error() -> HoldpointError:
    return HoldpointError(["run_state"], "the handler has ended the run")


def failure_text(text: str) -> str:
    """Returns a text that the service accepts: without control characters, at most 16 KiB, not empty."""
    clean = "".join(c for c in text if c in "\t\n\r" or not (c < " " or "\x7f" <= c <= "\x9f")).encode(errors="replace")
    return clean[:16384].decode(errors="ignore") or "failed without a text"
