"""One claimed run, as its handler has it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar, cast

from . import types as doc
from ._approved import approved_input
from ._async import AsyncHoldpoint
from ._emitted import Emitted
from ._json import encode_json
from ._match import require_same
from ._transport import new_id, now
from .errors import Cancelled, HoldpointError, Suspended, WorkerStopped, invalid, is_transient

OWN_CALL_SECONDS = 10.0
"""Bounds the calls that the task makes by itself while a handler waits for it."""

RELEASE_SECONDS = 5.0
"""Bounds the call that releases a run when the worker stops. Its run is claimable when the lease lapses."""

Value = TypeVar("Value")
Settled = dict[str, Any]
"""A SettledApproval or a SettledQuestion."""


class _Waiter:
    """A request that callers of the handler wait for."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self.asked = asked
        self.waiting = 0
        """When the last caller gives up, the request is withdrawn."""
        self.raised = False
        """The service has the request."""
        self.done: asyncio.Future[Settled] = asyncio.get_running_loop().create_future()
        self.number = 0

    @property
    def id(self) -> str:
        return cast(str, self.asked["id"])


class AsyncTask:
    """One claimed run. Its methods may be called at once, until the handler has returned. Every method that calls the service raises
    the errors of that call; after lease_lost and cancelled the task was stopped too. While the service cannot be reached, a call is
    repeated for as long as the lease lasts. Then it raises lease_lost, and the run is left to the next claim."""

    def __init__(self, client: AsyncHoldpoint, claim: doc.Claim, *, lease_ms: int, poll_seconds: float) -> None:
        self._client = client
        self.claim = claim
        self._lease_ms, self._poll_seconds = lease_ms, poll_seconds
        self.on_stop: Callable[[HoldpointError], None] = lambda _reason: None
        self.stopped: HoldpointError | None = None
        """Why the handler must not go on: lease_lost, cancelled or worker_stopped. An async handler is cancelled as well."""
        self._lost: asyncio.Future[HoldpointError] = asyncio.get_running_loop().create_future()
        # Why the lease is not this task's any more; later than stopped when the worker stops.
        self._draining = False  # the worker stops, so waits for people end at once
        self._interrupted = False  # such a wait ended, or was refused
        self._ending = 0
        # Calls in flight that end the lease: meanwhile the refusal of another call does not mean that it was lost.
        self._ended: HoldpointError | None = None
        # The error of the waits that are left, once one of them succeeded or the handler has returned.
        self._settled: dict[str, Settled] = {}
        self._waiters: dict[str, _Waiter] = {}
        self._attached = False
        self._after = 0  # the number of the last decision that the shared poll saw
        self._uncollected: set[int] = set()  # the numbers of decisions that were not returned to their caller yet
        self._poll: asyncio.Task[None] | None = None
        self._joined: set[asyncio.Task[None]] = set()
        self._emitted = Emitted(self.run_id, encode_json(claim["checkpoint"]) if "checkpoint" in claim else "")
        self._add(claim.get("resume"))

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
    def ended(self) -> bool:
        """Whether a call of this task ended the lease."""
        return self._ended is not None

    @property
    def ending(self) -> bool:
        """Whether the lease has ended, or may have, by a call of this task."""
        return self.ended or self._ending > 0

    def lost(self) -> HoldpointError | None:
        """Why the lease is not this task's any more; None while it is. The worker asks."""
        return self._lost.result() if self._lost.done() else None

    def interrupted(self) -> bool:
        """Whether a wait for a person ended because the worker stops. The worker asks."""
        return self._interrupted

    def drain(self) -> None:
        """Ends the waits for people. Their requests stay open for the next worker that claims the run. The worker calls it."""
        self._draining = True
        self._interrupted = self._interrupted or bool(self._waiters)
        self._end_waits(WorkerStopped())

    def stop(self, reason: HoldpointError) -> None:
        """Ends the handler. The worker calls it."""
        if not reason.is_kind("worker_stopped") and not self._lost.done():
            self._lost.set_result(reason)
        if self.stopped is None:
            self.stopped = reason
            self._end_waits(reason)
            self.on_stop(reason)

    async def approve(self, request: Mapping[str, Any], *, timeout_seconds: float | None = None) -> doc.Resolution:
        """Asks for approval and waits in place until it is settled; several callers may do so at once. Only the behavior "allow"
        allows anything, and then updated_input, when there is one, replaces the input.

        A request with this id that was settled before, or is open, in this run is not raised again: its decision is returned. So a
        handler with stable ids may begin from the top after a crash. The tool and the input must be the same, else id_conflict.

        After timeout_seconds, or when the caller is cancelled, the request is withdrawn; when the task was stopped, it stays open for
        the next worker that claims the run. It also stays open when the worker stops: then the wait ends at once with
        WorkerStopped."""
        return cast(doc.Resolution, (await self._await(self._named(request, "approval"), timeout_seconds))["resolution"])

    async def approve_input(self, request: Mapping[str, Any], *, timeout_seconds: float | None = None) -> Any:
        """Asks for approval and waits in place, like approve, and returns the input that may run, with the approver's edits. Raises
        NotAllowed if the approval was denied or has expired; a handler that lets it through fails the run without a retry."""
        return approved_input(await self._await(self._named(request, "approval"), timeout_seconds))

    async def ask(self, request: Mapping[str, Any], *, timeout_seconds: float | None = None) -> doc.Answer:
        """Asks a question and waits in place until it is settled, as approve does. A question that expires ends its run."""
        return cast(doc.Answer, (await self._await(self._named(request, "question"), timeout_seconds))["resolution"])

    async def suspend(self, suspension: Mapping[str, Any]) -> doc.Resume:
        """Raises requests, ends the lease and raises Suspended, which the handler lets through. The handler is called again once
        everything is settled. Each request needs an id; a missing tool_call_id is set to it. approved returns the input of an approval
        that may run.

        When everything that it asks for was settled before, by these same requests with these same ids, or is settled at once by
        standing rules, it returns the decisions instead. So a handler may begin from the top every time."""
        if suspension.get("hold"):
            raise invalid("to wait with the lease, use approve and ask")
        if known := self._settled_before(suspension):
            return known
        sent = dict(suspension)
        for noun in ("approvals", "questions"):
            if noun in sent:
                sent[noun] = [{**one, "tool_call_id": one.get("tool_call_id") or one.get("id", "")} for one in sent[noun]]
        included = self._included()
        if "checkpoint" in sent and included is not None:
            sent.setdefault("settled_after", included)

        async def call() -> tuple[doc.SuspendReply, bool]:
            reply = await self._while_leased(self._client.suspend(self.run_id, self.fence, sent))
            # Without a lease the run is claimable again, whatever was settled at once.
            return reply, "resume" not in reply or "lease" not in reply["run"]

        try:
            reply = await self._end_lease(Suspended(), call)
        except HoldpointError as failure:
            if not failure.is_kind("id_conflict"):
                raise
            await self._read_history()
            if history := self._settled_before(suspension):
                return history
            raise
        if "resume" not in reply or "lease" not in reply["run"]:
            raise Suspended
        self._add(reply["resume"])
        return reply["resume"]

    async def ask_parent(self, body: Mapping[str, Any]) -> doc.ClarificationAnswer | None:
        """Asks the parent's session. With park it ends the lease and raises Suspended; the handler is called again once there is an
        answer, and then the same call returns it. Without, it returns None, and the answer comes into the session's mailbox."""
        if not body.get("park"):
            await self._calling(self._client.ask_parent(self.run_id, self.fence, body))
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
            reply = await self._while_leased(self._client.ask_parent(self.run_id, self.fence, {**body, "request": request}))
            return None, "lease" not in reply["run"]

        try:
            await self._end_lease(Suspended(), call)
        except HoldpointError as failure:
            if not failure.is_kind("id_conflict"):
                raise
            # It may be the same question with another checkpoint.
            await self._read_history()
            if identity not in self._settled:
                raise
        if self._ended:
            raise Suspended
        return await self._answered(request)

    async def redeem_grant(self, resolution: doc.Resolution, value: Any) -> doc.Redemption:
        """Redeems the grant of an approval that approve, or the claim's resume, returned, just before the task does what was
        approved; value is the input that is about to run. Raises grant_redeemed also when the claim shows that a worker before was
        about to: find out what ran."""
        grant = resolution.get("grant")
        if isinstance(grant, str):
            return await self._calling(self._client.redeem_grant(grant, value))
        if grant and grant.get("redeemed_at_ms"):
            raise HoldpointError(["grant_redeemed"], f"it was redeemed before, under fence {grant.get('fence')}")
        raise HoldpointError(["invalid_grant"], f"request {resolution['request_id']} was {resolution['outcome']} and has no grant")

    async def save_checkpoint(self, checkpoint: Any) -> None:
        """Stores a checkpoint, which a later claim returns. It counts as including the decisions that were returned before. None is
        not a checkpoint: it only renews the lease, and the stored checkpoint stays."""
        beat = await self._calling(self._client.heartbeat(
            self.run_id, self.fence, lease_ms=self._lease_ms, checkpoint=checkpoint,
            settled_after=None if checkpoint is None else self._included(),
        ))
        if checkpoint is not None:
            self._emitted.checkpointed(checkpoint)
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
            await self._calling(self._client._append_of_task(self.run_id, self.fence, events, self._emitted.key(events)))

    async def output(self, content: str) -> None:
        """Appends a piece of output, once, as emit does. The run and the session then show it."""
        await self.emit({"type": "output", "content": content})

    async def end_with(self, call: Awaitable[Any]) -> None:
        """Makes a call that ends the lease when it succeeds. The worker calls it."""

        async def ending() -> tuple[None, bool]:
            await self._while_leased(call)
            return None, True

        await self._end_lease(_ended_error(), ending)

    async def release(self) -> None:
        """Gives the run back because the worker stops. The worker calls it."""
        async with asyncio.timeout(RELEASE_SECONDS):
            await self.end_with(self._client.release_run(self.run_id, self.fence))

    async def close(self) -> None:
        """Ends the waits that the handler left behind, and waits for what the task started. The worker calls it."""
        self._ended = self._ended or _ended_error()
        self._end_waits(self._ended)
        if not self._lost.done():
            self._lost.set_result(self._ended)
        while self._joined:
            await asyncio.wait(self._joined)

    async def _calling(self, call: Awaitable[Value]) -> Value:
        try:
            return await self._while_leased(call)
        except HoldpointError as failure:
            raise await self._refused(failure) from failure

    async def _while_leased(self, call: Awaitable[Value]) -> Value:
        """Makes a call that ends when the lease does, with the reason."""
        calling = asyncio.ensure_future(call)
        try:
            either: list[asyncio.Future[Any]] = [calling, self._lost]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            over = calling.done()
            if not over:
                calling.cancel()
        if not over:
            await asyncio.wait([calling])
            raise self._lost.result()
        return calling.result()

    async def _end_lease(self, reason: HoldpointError, call: Callable[[], Coroutine[Any, Any, tuple[Value, bool]]]) -> Value:
        self._ending += 1
        try:
            value, ended = await call()
        except HoldpointError as failure:
            self._ending -= 1
            raise await self._refused(failure) from failure
        except BaseException:
            self._ending -= 1
            raise
        self._ending -= 1
        if ended and self._ended is None:
            self._ended = reason
            self._end_waits(reason)
        return value

    async def _refused(self, failure: HoldpointError) -> HoldpointError:
        """Returns what a refusal means. When the lease is lost it stops the task, and asks by a heartbeat whether the run was
        cancelled: every other call on a cancelled run is refused with lease_lost."""
        if not failure.is_kind("lease_lost") or self.ending or self._lost.done():
            return failure
        reason = failure
        with contextlib.suppress(HoldpointError, TimeoutError):
            async with asyncio.timeout(OWN_CALL_SECONDS):
                beat = await self._client.heartbeat(self.run_id, self.fence, lease_ms=self._lease_ms)
            if beat["cancel_requested"]:
                reason = Cancelled()
        self.stop(reason)
        return reason

    # Waiting in place

    @staticmethod
    def _named(request: Mapping[str, Any], kind: str) -> dict[str, Any]:
        identity = request.get("id") or new_id(kind)
        return {**request, "id": identity, "tool_call_id": request.get("tool_call_id") or identity}

    async def _await(self, asked: dict[str, Any], timeout_seconds: float | None) -> Settled:
        identity = asked["id"]
        if known := self._settled.get(identity):
            require_same(known["request"], asked)
            return known
        if over := self._why_ended():
            self._interrupted = self._interrupted or self._draining
            raise over
        waiter = self._waiters.get(identity)
        if waiter:
            require_same(waiter.asked, asked)
        else:
            waiter = self._waiters[identity] = _Waiter(asked)
            self._attached = True
            self._join(self._raise(waiter))
        waiter.waiting += 1
        try:
            async with asyncio.timeout(timeout_seconds):
                settled = await asyncio.shield(waiter.done)
        except (asyncio.CancelledError, TimeoutError):
            waiter.waiting -= 1
            if not waiter.done.done() and waiter.waiting == 0 and not self._why_ended():
                withdrawal = self._join(self._withdraw(waiter))
                await asyncio.shield(withdrawal)
            raise
        finally:
            if waiter.done.done():
                self._uncollected.discard(waiter.number)
        require_same(settled["request"], asked)
        return settled

    def _join(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._joined.add(task)
        task.add_done_callback(self._left)
        return task

    def _left(self, task: asyncio.Task[None]) -> None:
        self._joined.discard(task)
        if not task.cancelled() and (failure := task.exception()):
            # A reply that is not what it should be. Nothing would end the waits later.
            unreadable = HoldpointError([], f"a reply cannot be read: {failure!r}")
            unreadable.__cause__ = failure
            self._end_waits(unreadable)

    async def _raise(self, waiter: _Waiter) -> None:
        """Raises a request, or finds the one of an earlier attempt."""
        noun = "approvals" if "tool_name" in waiter.asked else "questions"
        try:
            reply = await self._while_leased(self._client.suspend(self.run_id, self.fence, {noun: [waiter.asked], "hold": True}))
            self._add(reply.get("resume"))
        except HoldpointError as failure:
            try:
                if not failure.is_kind("id_conflict"):
                    raise await self._refused(failure) from failure
                await self._adopt(waiter.asked, failure)
            except HoldpointError as still:
                self._finish(waiter, still)
                return
        waiter.raised = True
        if known := self._settled.get(waiter.id):
            self._finish(waiter, known)
        elif self._waiters.get(waiter.id) is waiter:
            self._start_poll()
        elif not waiter.done.done():
            await self._withdraw_raised(waiter)  # every caller gave up meanwhile

    async def _adopt(self, asked: Mapping[str, Any], conflict: HoldpointError) -> None:
        """Finds a request that an earlier attempt raised: it is open, or its decision is recorded."""
        run = await self._while_leased(self._client.get_run(self.run_id))
        for pending in [*run.get("pending_approvals", []), *run.get("pending_questions", [])]:
            if cast(Any, pending).get("id") == asked["id"]:
                require_same(cast(Any, pending), asked)
                return
        await self._read_history()
        if asked["id"] not in self._settled:
            raise conflict

    async def _withdraw(self, waiter: _Waiter) -> None:
        del self._waiters[waiter.id]
        if self._poll and not self._raised():
            self._poll.cancel()
        if waiter.raised:
            await self._withdraw_raised(waiter)

    async def _withdraw_raised(self, waiter: _Waiter) -> None:
        """When it was settled just before, that decision stays recorded."""
        try:
            async with asyncio.timeout(OWN_CALL_SECONDS):
                withdrawal = self._client.withdraw(self.run_id, waiter.id, self.fence, reason="the worker no longer waits for it")
                await self._while_leased(withdrawal)
        except HoldpointError as failure:
            await self._refused(failure)
        except TimeoutError:
            pass  # the request stays open until the run ends

    def _start_poll(self) -> None:
        if (self._poll is None or self._poll.done()) and not self._why_ended():
            self._poll = self._join(self._long_poll())

    async def _long_poll(self) -> None:
        """Long-polls for what was settled, for all waiters at once, while there are some."""
        with contextlib.suppress(asyncio.CancelledError):
            pauses = self._client.transport.pauses()
            while (before := self._raised()) and not self._why_ended():
                asked = now()
                try:
                    settled = await self._client.await_settled(self.run_id, self.fence, str(self._after), self._poll_seconds)
                except HoldpointError as failure:
                    if is_transient(failure) or self.ending:
                        # While the task's own call may have ended the lease, that call ends the waits.
                        await pauses.after_anyway(failure)
                        continue
                    self._end_waits(await self._refused(failure))
                    return
                self._record(settled)
                if settled["open"] == 0 and not settled["settled"]:
                    for waiter in before:
                        self._finish(waiter, HoldpointError([], "the request is neither open nor settled"))
                if settled["cancel_requested"]:
                    self.stop(Cancelled())
                elif settled["settled"]:
                    pauses.reset()
                else:
                    await pauses.after_held(asked, self._poll_seconds)
        if self._raised() and not self._why_ended():
            self._poll = None  # another request came while it was being cancelled
            self._start_poll()

    def _raised(self) -> list[_Waiter]:
        return [waiter for waiter in self._waiters.values() if waiter.raised]

    def _record(self, reply: doc.Settled) -> None:
        """Stores decisions and ends the waits for them."""
        for settled in cast(list[Settled], reply["settled"]):
            identity = settled["request"]["id"]
            self._settled[identity] = settled
            if waiter := self._waiters.get(identity):
                waiter.number = int(settled.get("settled_number", "0"))
                self._uncollected.add(waiter.number)
                self._finish(waiter, settled)
        self._after = max(self._after, int(reply["after"]))

    async def _read_history(self) -> None:
        """Reads all decisions of the run, also those of earlier suspensions."""
        self._record(await self._calling(self._client.await_settled(self.run_id, self.fence, "0", 0)))

    async def _answered(self, request: Mapping[str, Any]) -> doc.ClarificationAnswer:
        await self._read_history()
        settled = self._settled.get(request["id"])
        if settled is None:
            raise HoldpointError([], f"question {request['id']} is neither open nor settled")
        require_same(settled["request"], request)
        names = ("request_id", "declined", "summary", "answers", "justification", "value", "runtime_payload")
        return cast(doc.ClarificationAnswer, {name: settled["resolution"][name] for name in names if name in settled["resolution"]})

    def _finish(self, waiter: _Waiter, outcome: Settled | HoldpointError) -> None:
        if self._waiters.get(waiter.id) is waiter:
            del self._waiters[waiter.id]
        if waiter.done.done():
            return
        if isinstance(outcome, HoldpointError):
            waiter.done.set_exception(outcome)
            waiter.done.exception()  # the callers may all have given up
        else:
            waiter.done.set_result(outcome)

    def _end_waits(self, reason: HoldpointError) -> None:
        for waiter in list(self._waiters.values()):
            self._finish(waiter, reason)
        if self._poll and self._poll is not asyncio.current_task():
            self._poll.cancel()

    def _why_ended(self) -> HoldpointError | None:
        return self.stopped or self._ended or (WorkerStopped() if self._draining else None)

    def _add(self, resume: doc.Resume | None) -> None:
        known = cast(dict[str, list[Settled]], resume or {})
        for settled in [*known.get("approvals", []), *known.get("questions", [])]:
            self._settled[settled["request"]["id"]] = settled

    def _included(self) -> str | None:
        """The last decision that a checkpoint stored now includes: all before the first that no caller has."""
        if not self._attached:
            return None
        return str(min([self._after, *(number - 1 for number in self._uncollected)]))

    def _settled_before(self, suspension: Mapping[str, Any]) -> doc.Resume | None:
        """The decisions that a suspension asks for, when all of them are recorded."""
        found: dict[str, Any] = {"suspension_id": suspension.get("suspension_id", ""), "approvals": [], "questions": []}
        for noun in ("approvals", "questions"):
            for asked in suspension.get(noun, []):
                settled = self._settled.get(asked.get("id", ""))
                if settled is None:
                    return None
                require_same(settled["request"], asked)
                found[noun].append(settled)
        return cast(doc.Resume, found) if found["approvals"] or found["questions"] else None


def _ended_error() -> HoldpointError:
    return HoldpointError(["run_state"], "the handler has ended the run")


def failure_text(text: str) -> str:
    """Returns a text that the service accepts: without control characters, at most 16 KiB, not empty."""
    clean = "".join(c for c in text if c in "\t\n\r" or not (c < " " or "\x7f" <= c <= "\x9f")).encode(errors="replace")
    return clean[:16384].decode(errors="ignore") or "failed without a text"
