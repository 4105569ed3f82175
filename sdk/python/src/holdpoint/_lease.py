"""The lease of a claimed run: what ends it, and the calls that are made under it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from . import types as doc
from ._async import AsyncHoldpoint
from ._transport import now
from .errors import Cancelled, HoldpointError, LeaseLost

OWN_CALL_SECONDS = 10.0
"""Bounds the calls that the task makes by itself while a handler waits for it."""

Value = TypeVar("Value")


class Lease:
    def __init__(self, client: AsyncHoldpoint, claim: doc.Claim, lease_ms: int) -> None:
        self.client = client
        self.run_id, self.fence, self.ms = claim["run"]["run_id"], claim["lease"]["fence"], lease_ms
        self.expires = now() + lease_ms / 1000
        """When it ends unless it is renewed."""
        self.on_stop: Callable[[HoldpointError], None] = lambda _reason: None
        self.on_over: Callable[[HoldpointError], None] = lambda _reason: None
        """Called when nothing can be waited for any more."""
        self.stopped: HoldpointError | None = None
        """Why the handler must not go on."""
        self._lost: asyncio.Future[HoldpointError] = asyncio.get_running_loop().create_future()
        # Why the lease is not this task's any more; later than stopped when the worker stops.
        self._ending = 0
        # Calls in flight that end the lease: meanwhile the refusal of another call does not mean that it was lost.
        self.ended: HoldpointError | None = None
        """The error of the waits that are left, once a call has ended the lease or the handler has returned."""

    @property
    def ending(self) -> bool:
        """Whether the lease has ended, or may have, by a call of this task."""
        return self.ended is not None or self._ending > 0

    def lost(self) -> HoldpointError | None:
        """Why the lease is not this task's any more; None while it is."""
        return self._lost.result() if self._lost.done() else None

    def require_held(self) -> None:
        """Raises when the run was cancelled or suspended, or when another worker may have it: then a decision that is known allows
        nothing here. A handler that kept the event loop busy comes here before its renewal has noticed."""
        if not self.ended and now() >= self.expires:
            self.stop(LeaseLost("the lease could not be renewed in time"))
        if over := self.ended or self.lost():
            raise over

    def stop(self, reason: HoldpointError) -> None:
        """Ends the handler."""
        if not reason.is_kind("worker_stopped") and not self._lost.done():
            self._lost.set_result(reason)
        if self.stopped is None:
            self.stopped = reason
            self.on_over(reason)
            self.on_stop(reason)

    def close(self, reason: HoldpointError) -> None:
        """Ends what the handler left behind."""
        self.ended = self.ended or reason
        self.on_over(self.ended)
        if not self._lost.done():
            self._lost.set_result(self.ended)

    async def calling(self, call: Awaitable[Value]) -> Value:
        try:
            return await self.while_leased(call)
        except HoldpointError as failure:
            raise await self.refused(failure) from failure

    async def while_leased(self, call: Awaitable[Value]) -> Value:
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

    async def end(self, reason: HoldpointError, call: Callable[[], Coroutine[Any, Any, tuple[Value, bool]]]) -> Value:
        """Makes a call that may end the lease, with this reason for the waits that are left."""
        self._ending += 1
        try:
            value, ended = await call()
        except HoldpointError as failure:
            self._ending -= 1
            raise await self.refused(failure) from failure
        except BaseException:
            self._ending -= 1
            raise
        self._ending -= 1
        if ended and self.ended is None:
            self.ended = reason
            self.on_over(reason)
        return value

    async def refused(self, failure: HoldpointError) -> HoldpointError:
        """Returns what a refusal means. When the lease is lost it stops the task, and asks by a heartbeat whether the run was
        cancelled: every other call on a cancelled run is refused with lease_lost."""
        if not failure.is_kind("lease_lost") or self.ending or self._lost.done():
            return failure
        reason = failure
        with contextlib.suppress(HoldpointError, TimeoutError):
            async with asyncio.timeout(OWN_CALL_SECONDS):
                beat = await self.client.heartbeat(self.run_id, self.fence, lease_ms=self.ms)
            if beat["cancel_requested"]:
                reason = Cancelled()
        self.stop(reason)
        return reason
