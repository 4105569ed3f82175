"""Waiting in place: what a task knows of decisions, and its waits for more of them. One long-poll serves all."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping
from typing import Any, cast

from . import types as doc
from ._lease import OWN_CALL_SECONDS, Lease
from ._match import require_same, require_shown
from ._transport import now
from .errors import Cancelled, HoldpointError, WorkerStopped, is_transient

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


class Waits:
    def __init__(self, lease: Lease, poll_seconds: float) -> None:
        self._lease, self._poll_seconds = lease, poll_seconds
        self._draining = False  # the worker stops, so waits for people end at once
        self.interrupted = False  # such a wait ended, or was refused
        self.settled: dict[str, Settled] = {}
        self._waiters: dict[str, _Waiter] = {}
        self._attached = False
        self._after = 0  # the number of the last decision that the shared poll saw
        self._uncollected: set[int] = set()  # the numbers of decisions that were not returned to their caller yet
        self._replied: dict[str, _Waiter | None] = {}
        # Decisions from replies to suspensions, by request id, until a page has shown their numbers. A waiter stands for one that its
        # caller does not have yet.
        self._catching_up = 0  # checkpoints for which these numbers are being read
        self._returned: list[_Waiter] = []  # the decisions that were returned meanwhile, which these checkpoints do not include
        self._poll: asyncio.Task[None] | None = None
        self._joined: set[asyncio.Task[None]] = set()

    def drain(self) -> None:
        """Ends the waits. Their requests stay open for the next worker that claims the run."""
        self._draining = True
        self.interrupted = self.interrupted or bool(self._waiters)
        self.end(WorkerStopped())

    async def over(self) -> None:
        """Waits for everything that the waits started."""
        while self._joined:
            await asyncio.wait(self._joined)

    async def until(self, asked: dict[str, Any], timeout_seconds: float | None) -> Settled:
        """Waits for the decision about a request, which is raised unless it is known or open."""
        self._lease.require_held()
        identity = asked["id"]
        if known := self.settled.get(identity):
            require_same(known["request"], asked)
            return known
        if over := self._why_ended():
            self.interrupted = self.interrupted or self._draining
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
            if waiter.done.done() and self._catching_up:
                self._returned.append(waiter)
            elif waiter.done.done():
                self._set_returned(waiter)
        if settled["resolution"]["outcome"] != "expired":  # a question that expires ends its run
            self._lease.require_held()
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
            self.end(unreadable)

    async def _raise(self, waiter: _Waiter) -> None:
        """Raises a request, or finds the one of an earlier attempt."""
        noun = "approvals" if "tool_name" in waiter.asked else "questions"
        try:
            reply = await self._lease.while_leased(self._lease.client.suspend(self._lease.run_id, self._lease.fence, {noun: [waiter.asked], "hold": True}))
            self.add_reply(reply.get("resume"), self._waiters.get(waiter.id))
        except HoldpointError as failure:
            try:
                if not failure.is_kind("id_conflict"):
                    raise await self._lease.refused(failure) from failure
                await self._adopt(waiter.asked, failure)
            except HoldpointError as still:
                self._finish(waiter, still)
                return
        waiter.raised = True
        if known := self.settled.get(waiter.id):
            self._finish(waiter, known)
        elif self._waiters.get(waiter.id) is waiter:
            self._start_poll()
        elif not waiter.done.done():
            await self._withdraw_raised(waiter)  # every caller gave up meanwhile

    async def _adopt(self, asked: Mapping[str, Any], conflict: HoldpointError) -> None:
        """Finds a request that an earlier attempt raised: it is open, or its decision is recorded."""
        run = await self._lease.while_leased(self._lease.client.get_run(self._lease.run_id))
        for pending in [*run.get("pending_approvals", []), *run.get("pending_questions", [])]:
            if cast(Any, pending).get("id") == asked["id"]:
                require_shown(cast(Any, pending), asked)
                return
        await self.read_history()
        if asked["id"] not in self.settled:
            raise conflict

    async def _withdraw(self, waiter: _Waiter) -> None:
        if self._waiters.get(waiter.id) is not waiter or waiter.waiting:
            return  # since its caller gave up it was settled, its task has ended, or somebody else waits for it
        del self._waiters[waiter.id]
        if self._poll and not self._raised():
            self._poll.cancel()
        if waiter.raised:
            await self._withdraw_raised(waiter)

    async def _withdraw_raised(self, waiter: _Waiter) -> None:
        """When it was settled just before, that decision stays recorded."""
        try:
            async with asyncio.timeout(OWN_CALL_SECONDS):
                withdrawal = self._lease.client.withdraw(self._lease.run_id, waiter.id, self._lease.fence, reason="the worker no longer waits for it")
                await self._lease.while_leased(withdrawal)
        except HoldpointError as failure:
            await self._lease.refused(failure)
        except TimeoutError:
            pass  # the request stays open until the run ends

    def _start_poll(self) -> None:
        if (self._poll is None or self._poll.done()) and not self._why_ended():
            self._poll = self._join(self._long_poll())

    async def _long_poll(self) -> None:
        """Long-polls for what was settled, for all waiters at once, while there are some."""
        with contextlib.suppress(asyncio.CancelledError):
            pauses = self._lease.client.transport.pauses()
            while (before := self._raised()) and not self._why_ended():
                asked = now()
                try:
                    settled = await self._lease.client.await_settled(self._lease.run_id, self._lease.fence, str(self._after), self._poll_seconds)
                except HoldpointError as failure:
                    if is_transient(failure) or self._lease.ending:
                        # While the task's own call may have ended the lease, that call ends the waits.
                        await pauses.after_anyway(failure)
                        continue
                    self.end(await self._lease.refused(failure))
                    return
                self._record(settled)
                if settled["open"] == 0 and not settled["settled"]:
                    for waiter in before:
                        self._finish(waiter, HoldpointError([], "the request is neither open nor settled"))
                if settled["settled"] or settled["cancel_requested"]:
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
            self.settled[identity] = settled
            replied = self._replied.pop(identity, None)
            if waiter := self._waiters.get(identity) or replied:
                waiter.number = int(settled.get("settled_number", "0"))
                self._uncollected.add(waiter.number)
                self._finish(waiter, settled)
        self._after = max(self._after, int(reply["after"]))
        if reply["cancel_requested"]:
            self._lease.stop(Cancelled())

    async def read_history(self) -> None:
        """Reads all decisions of the run, also those of earlier suspensions."""
        await self._read_settled(0)

    async def _read_settled(self, number: int) -> None:
        """Reads the decisions after a number."""
        after, more = str(number), True
        while more:
            page = await self._lease.calling(self._lease.client.await_settled(self._lease.run_id, self._lease.fence, after, 0))
            self._record(page)
            # Open counts requests that are still open, and one more if there are decisions beyond this page.
            after, more = page["after"], bool(page["settled"]) and page["open"] > 0

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

    def end(self, reason: HoldpointError) -> None:
        """Ends all waits."""
        for waiter in list(self._waiters.values()):
            self._finish(waiter, reason)
        if self._poll and self._poll is not asyncio.current_task():
            self._poll.cancel()

    def _why_ended(self) -> HoldpointError | None:
        return self._lease.stopped or self._lease.ended or (WorkerStopped() if self._draining else None)

    def _set_returned(self, waiter: _Waiter) -> None:
        self._uncollected.discard(waiter.number)
        if self._replied.get(waiter.id) is waiter:
            self._replied[waiter.id] = None

    def add_reply(self, resume: doc.Resume | None, waiter: _Waiter | None = None) -> None:
        """Records the decisions of a reply to a suspension, for the waiter of its request."""
        for settled in _decisions(resume):
            identity = settled["request"]["id"]
            if identity not in self.settled or identity in self._replied:
                self._replied[identity] = waiter
        self.add(resume)

    def add(self, resume: doc.Resume | None) -> None:
        """Records decisions that came with a claim."""
        for settled in _decisions(resume):
            self.settled[settled["request"]["id"]] = settled

    async def included(self) -> str | None:
        """The last decision that a checkpoint stored now includes: all before the first that no caller has. It reads the numbers of
        decisions that came without them: no poll runs if rules decide every request."""
        if not self._attached:
            return None
        # After the end of all waits a page may have decisions that no caller gets.
        if not self._replied or self._why_ended():
            return self._taken()
        self._catching_up += 1
        try:
            await self._read_settled(self._after)
            return self._taken()
        finally:
            self._catching_up -= 1
            if not self._catching_up:
                for waiter in self._returned:
                    self._set_returned(waiter)
                self._returned.clear()

    def _taken(self) -> str:
        return str(min([self._after, *(number - 1 for number in self._uncollected)]))

    def settled_before(self, suspension: Mapping[str, Any]) -> doc.Resume | None:
        """The decisions that a suspension asks for, when all of them are recorded."""
        self._lease.require_held()
        return decisions_on(suspension, self.settled)


def decisions_on(suspension: Mapping[str, Any], all_settled: Mapping[str, Settled]) -> doc.Resume | None:
    """The decisions that a suspension asks for, when all of them are among these, by request id."""
    found: dict[str, Any] = {"suspension_id": suspension.get("suspension_id", ""), "approvals": [], "questions": []}
    for noun in ("approvals", "questions"):
        for asked in suspension.get(noun, []):
            identity = asked.get("id") or f"question-request-{asked.get('tool_call_id')}"  # as the service derives it
            settled = all_settled.get(identity)
            if settled is None:
                return None
            require_same(settled["request"], asked)
            found[noun].append(settled)
    return cast(doc.Resume, found) if found["approvals"] or found["questions"] else None


def by_request(resume: doc.Resume) -> dict[str, Settled]:
    """The decisions of a Resume by request id."""
    return {settled["request"]["id"]: settled for settled in _decisions(resume)}


def _decisions(resume: doc.Resume | None) -> list[Settled]:
    known = cast(dict[str, list[Settled]], resume or {})
    return [*known.get("approvals", []), *known.get("questions", [])]
