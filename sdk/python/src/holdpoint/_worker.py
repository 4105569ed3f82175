"""The loop that claims runs and calls a handler for each."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from . import types as doc
from ._async import AsyncHoldpoint
from ._task import AsyncTask, failure_text
from ._transport import is_unanswered, now
from .errors import AttemptFailed, Cancelled, HoldpointError, LeaseLost, ProblemError, WorkerStopped, invalid, is_kind, of_run, text_of

logger = logging.getLogger("holdpoint")


def log_error(error: BaseException) -> None:
    """Logs what a worker reports."""
    logger.error("%s", error, exc_info=error.__cause__)


def harmless(on_error: Callable[[BaseException], None]) -> Callable[[BaseException], None]:
    """Returns on_error for callers that must go on whatever it raises: a lease would no longer be renewed, and nobody would know."""

    def report(error: BaseException) -> None:
        try:
            on_error(error)
        except Exception:
            logger.exception("on_error failed when it was given: %s", text_of(error))

    return report


AsyncHandler = Callable[[AsyncTask], Awaitable[Any]]
"""Does the work of one run. What it returns is the run's output, unless it ended the run itself. When it raises, the attempt failed: the
run is retried, and fails with the text of the error after the last attempt; task.fail fails it at once. After Suspended nothing
more happens, after WorkerStopped the run is released, and after NotAllowed it fails without a retry or a report. It is cancelled when task.stopped is set; what it raises after that changes
nothing."""


class AsyncWorker:
    """Claims runs and calls a handler for each."""

    def __init__(
        self,
        client: AsyncHoldpoint,
        *,
        worker_id: str | None = None,
        agent_ids: Sequence[str] = (),
        concurrency: int = 16,
        lease_ms: int = 30_000,
        heartbeat_seconds: float | None = None,
        poll_seconds: float = 30.0,
        drain_seconds: float = 30.0,
        max_attempts: int = 3,
        retry_seconds: float = 1.0,
        on_error: Callable[[BaseException], None] = log_error,
    ) -> None:
        """worker_id names the worker in leases. agent_ids are those whose runs are claimed, at most 100; all when empty. concurrency
        is how many runs are worked on at once. lease_ms is 1,000 to 3,600,000; heartbeat_seconds a third of it by default.
        poll_seconds is how long one long-poll waits, 1 to 60. drain_seconds is how long handlers may work on after the worker was
        stopped; one that waits for a person does not use it.

        max_attempts is how many attempts may fail before a run does; 1 retries nothing. They count since the last suspension that
        ended a lease. Attempts that fail because the service is unreachable do not count. retry_seconds is the pause after the first; it doubles with
        each further one, up to an hour. on_error gets an AttemptFailed for each attempt that failed, and the errors outside of
        handlers; it logs them by default. It is called in the event loop, so it must not block. What it raises itself is logged."""
        self.worker_id = worker_id or f"py-{uuid.uuid4()}"
        self._client, self._agent_ids, self._concurrency = client, agent_ids, concurrency
        self._patient = client._patiently(lease_ms / 1000)  # for the calls of runs that are held
        self._lease_ms, self._poll_seconds, self._drain_seconds = lease_ms, poll_seconds, drain_seconds
        self._heartbeat_seconds = heartbeat_seconds or lease_ms / 3000
        self._max_attempts, self._retry_seconds = max_attempts, retry_seconds
        self._on_error = harmless(on_error)
        self._stop: asyncio.Event | None = None
        self._stopping = False
        if not re.fullmatch(r"[A-Za-z0-9._:-]{1,200}", self.worker_id) or self.worker_id in (".", ".."):
            raise invalid("worker_id must have 1 to 200 characters of A-Z a-z 0-9 . _ : -")
        if concurrency < 1:
            raise invalid("concurrency must be at least 1")
        if not 1_000 <= lease_ms <= 3_600_000:
            raise invalid("lease_ms must be between 1,000 and 3,600,000")
        if not 0 < self._heartbeat_seconds < lease_ms / 1000:
            raise invalid("heartbeat_seconds must be positive and shorter than the lease")
        if max_attempts < 1:
            raise invalid("max_attempts must be at least 1")
        if not 0 <= retry_seconds <= 3600:
            raise invalid("retry_seconds must be between 0 and 3,600")
        if not 1 <= poll_seconds <= 60:
            raise invalid("poll_seconds must be between 1 and 60")

    def stop(self) -> None:
        """Ends run in order. Before run, it ends the next one as it begins. To be called in the event loop of run."""
        self._stopping = True
        if self._stop:
            self._stop.set()

    async def run(self, handler: AsyncHandler) -> None:
        """Claims runs and calls the handler for each, until stop is called or the caller is cancelled. Then it claims no more, ends
        the handlers' waits for people, gives them drain_seconds, cancels those that did not finish, and releases their runs. A second
        cancellation does not wait for drain_seconds. It raises, after the same steps, when the service refuses its claims for good."""
        try:
            if not self._stopping:
                await self._run(handler)
        finally:
            self._stopping = False

    async def _run(self, handler: AsyncHandler) -> None:
        self._stop = asyncio.Event()
        handlers: dict[asyncio.Task[None], AsyncTask] = {}

        def start(claim: doc.Claim) -> None:
            task = AsyncTask(self._patient, claim, lease_ms=self._lease_ms, poll_seconds=self._poll_seconds)
            handling = asyncio.get_running_loop().create_task(self._handle(task, handler))
            handlers[handling] = task
            handling.add_done_callback(lambda done: handlers.pop(done, None))

        claiming = asyncio.get_running_loop().create_task(self._claim(handlers, start))
        stopping = asyncio.get_running_loop().create_task(self._stop.wait())
        try:
            await asyncio.wait([claiming, stopping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            claiming.cancel()
            try:
                await asyncio.wait([claiming])
                for task in list(handlers.values()):
                    task.drain()
                if handlers:
                    await asyncio.wait(list(handlers), timeout=max(0.0, self._drain_seconds))
            finally:  # even if the drain is cancelled: otherwise handlers would go on and renew their leases
                for task in list(handlers.values()):
                    task.stop(WorkerStopped())
                if handlers:
                    await asyncio.wait(list(handlers))
        if not claiming.cancelled() and (refusal := claiming.exception()):
            raise refusal

    async def _claim(self, handlers: dict[asyncio.Task[None], AsyncTask], start: Callable[[doc.Claim], None]) -> None:
        pauses = self._client.transport.pauses()
        while True:
            if len(handlers) >= self._concurrency:
                await asyncio.wait(list(handlers), return_when=asyncio.FIRST_COMPLETED)
                continue
            asked = now()
            try:
                claims = await self._client.claim_runs(
                    self.worker_id, agent_ids=self._agent_ids, max_runs=min(self._concurrency - len(handlers), 100),
                    lease_ms=self._lease_ms, wait_ms=int(self._poll_seconds * 1000),
                )
            except Exception as failure:  # noqa: BLE001 - a reply that cannot be read is no reason to stop
                if _is_refusal(failure):
                    raise
                self._on_error(failure)
                await pauses.after_anyway(failure)
                continue
            for claim in claims:
                start(claim)
            if claims:
                pauses.reset()
            else:
                await pauses.after_held(asked, self._poll_seconds)

    async def _handle(self, task: AsyncTask, handler: AsyncHandler) -> None:
        """Calls the handler for one run and ends the run as the outcome says. It never raises."""
        loop = asyncio.get_running_loop()
        beats = loop.create_task(self._renew_lease(task))
        handling = loop.create_task(_as_coroutine(handler, task))

        def cancel(_reason: HoldpointError) -> None:
            handling.cancel()

        task.on_stop(cancel)
        if task.stopped:
            handling.cancel()
        try:
            while not handling.done():
                try:
                    await asyncio.wait([handling])
                except asyncio.CancelledError:  # the event loop ends: the run is released first
                    task.stop(WorkerStopped())
            await self._finish(task, handling)
        except Exception as failure:  # noqa: BLE001 - of the call that ends the run
            self._on_error(of_run(task.run_id, "was not finished", failure))
        finally:
            beats.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await beats
            await task.close()

    async def _finish(self, task: AsyncTask, handling: asyncio.Task[Any]) -> None:
        raised = asyncio.CancelledError() if handling.cancelled() else handling.exception()
        suspended = is_kind(raised, "suspended")
        why = task.lost() or task.stopped
        stopped = task.interrupted() or is_kind(why, "worker_stopped") or is_kind(raised, "worker_stopped")
        if task.ended:
            if raised and not suspended and not why:
                self._on_error(of_run(task.run_id, "handler failed after it had ended the run", raised))
        elif is_kind(why, "cancelled"):
            pass
        elif why and is_kind(why, "lease_lost"):
            self._on_error(of_run(task.run_id, "was not finished", why))
        elif raised is None:
            try:
                await task.complete(handling.result())
            except HoldpointError as failure:
                if not failure.is_kind("invalid"):
                    raise
                # The output has no JSON form, or the service refuses it, such as one that is too large.
                refused = HoldpointError(["invalid"], f"output: {failure}")
                refused.__cause__ = failure
                await self._fail_attempt(task, refused, permanent=True)
        elif stopped:
            await task.release()
        elif suspended:
            await task.fail("the handler raised Suspended without having suspended the run")
        elif is_kind(raised, "not_allowed"):
            await task.fail(text_of(raised))  # the decision is final, so a retry would end in the same way
        else:
            await self._fail_attempt(task, raised)

    async def _fail_attempt(self, task: AsyncTask, raised: BaseException, *, permanent: bool = False) -> None:
        """Reports that the handler failed, and releases the run for a retry, or fails it after the last attempt, or when no retry would help."""
        counts = not is_kind(raised, "unavailable")
        attempt = task.run.get("failed_attempts", 0) + counts
        last = permanent or (counts and attempt >= self._max_attempts)
        text = failure_text(text_of(raised))
        failed = AttemptFailed(task.run_id, attempt, last, text)
        failed.__cause__ = raised
        self._on_error(failed)
        if last:
            await task.fail(text)
            return
        delay = min(self._retry_seconds * 2 ** min(max(attempt - 1, 0), 32), 3600.0)
        await task.end_with(self._patient.release_run(
            task.run_id, task.fence, last_error=text, attempt=attempt, delay_ms=round(delay * 1000),
        ))

    async def _renew_lease(self, task: AsyncTask) -> None:
        """Renews the lease, and stops the task when the run was cancelled or the lease is lost."""
        pause = self._heartbeat_seconds
        while True:
            await asyncio.sleep(pause)
            sent, pause = now(), self._heartbeat_seconds
            try:
                async with asyncio.timeout(task.lease_seconds_left()):
                    beat = await self._patient.heartbeat(task.run_id, task.fence, lease_ms=self._lease_ms)
                cancelled = beat["cancel_requested"]
            except Exception as failure:  # noqa: BLE001 - a lease that is not renewed must be noticed, whatever the reason
                if task.ended:
                    return
                if task.ending and task.lease_seconds_left() > 0:
                    continue  # the task's own call may have ended the lease
                if is_kind(failure, "lease_lost"):
                    task.stop(failure)  # type: ignore[arg-type]
                    return
                if is_kind(failure, "not_found") or is_kind(failure, "run_state"):
                    task.stop(LeaseLost("the run is no longer there to be worked on"))
                    return
                self._on_error(of_run(task.run_id, "lease was not renewed", failure))
                if task.lease_seconds_left() <= 0:
                    # Another worker may have claimed the run.
                    task.stop(LeaseLost("the lease could not be renewed in time"))
                    return
                pause = min(pause / 4, task.lease_seconds_left())  # the handler ends no later than the lease
                continue
            if task.ended:
                return
            if cancelled:
                task.stop(Cancelled())
                return
            task.renewed(sent + self._lease_ms / 1000)


async def _as_coroutine(handler: AsyncHandler, task: AsyncTask) -> Any:
    return await handler(task)


def _is_refusal(failure: Exception) -> bool:
    """Whether the service refused the call for good, or it could not be made at all."""
    if is_unanswered(failure):
        return False
    if isinstance(failure, ProblemError):
        return 400 <= failure.status < 500
    return is_kind(failure, "invalid")
