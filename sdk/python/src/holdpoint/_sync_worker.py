"""The worker for programs without asyncio."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

from ._sync import Holdpoint, Task
from ._task import AsyncTask
from ._worker import AsyncWorker, harmless, log_error

_MAX_UNREPORTED = 100

Handler = Callable[[Task], Any]
"""Does the work of one run, in a thread of its own. What it returns is the run's output, unless it ended the run itself. When it
raises, the attempt failed: the run is retried, and fails with the text of the error after the last attempt. After Suspended nothing more happens."""


@contextlib.contextmanager
def _stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Calls stop at the first SIGINT or SIGTERM. A second one does what it would have done. A signal that the program handles itself
    stays with the program, and so does every signal outside of the main thread."""
    replaced: dict[int, Any] = {}

    def restore() -> None:
        for number, before in replaced.items():
            if signal.getsignal(number) is handle:
                signal.signal(number, before)

    process = os.getpid()

    def handle(number: int, _frame: FrameType | None) -> None:
        restore()
        if os.getpid() == process:
            stop()
        elif number == signal.SIGTERM:
            signal.raise_signal(number)  # of a forked child, which has no worker to stop; at Ctrl-C its parent stops

    if threading.current_thread() is threading.main_thread():
        for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
            if signal.getsignal(number) == default:
                replaced[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        restore()


def _outcome(name: str, call: Callable[[Any], Any], given: Any) -> Any:
    """Calls what the program gave. What it raises may not be what ends the event loop, such as SystemExit, or what a future cannot have."""
    try:
        return call(given)
    except BaseException as failure:
        if isinstance(failure, Exception) and not isinstance(failure, StopIteration):
            raise
        raise RuntimeError(f"{name} raised {failure!r}") from failure


class Worker:
    """Claims runs and calls a handler for each."""

    def __init__(
        self,
        client: Holdpoint,
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
        """Takes the same options as AsyncWorker. on_error is called in a thread of its own, one error after the other; run waits for it.
        While 100 errors wait, further ones are logged instead."""
        self._client, self._on_error = client, harmless(functools.partial(_outcome, "on_error", on_error))
        self._reports: concurrent.futures.ThreadPoolExecutor | None = None
        self._room = threading.Semaphore(_MAX_UNREPORTED)
        self._concurrency = concurrency
        self._worker = AsyncWorker(
            client._async, worker_id=worker_id, agent_ids=agent_ids, concurrency=concurrency, lease_ms=lease_ms,
            heartbeat_seconds=heartbeat_seconds, poll_seconds=poll_seconds, drain_seconds=drain_seconds,
            max_attempts=max_attempts, retry_seconds=retry_seconds, on_error=self._report,
        )

    @property
    def worker_id(self) -> str:
        return self._worker.worker_id

    def run(self, handler: Handler) -> None:
        """Claims runs and calls the handler for each, until another thread calls stop or closes the client, or SIGINT or SIGTERM
        arrives in the main thread. Then it claims no more, ends waits for people, and gives the handlers drain_seconds. Threads that work on after that
        see it by task.stopped; it waits for them, and releases their runs unless they finished them. It raises, after the same steps, when the service refuses its claims
        for good. A signal that the program handles itself does not stop the worker."""
        portal = self._client._portal
        pool = concurrent.futures.ThreadPoolExecutor
        with pool(1, "holdpoint-errors") as self._reports, pool(self._concurrency, "holdpoint-handler") as threads:

            def in_this_thread(task: Task) -> Any:
                portal.handling.thread = True
                return _outcome("the handler", handler, task)

            async def in_a_thread(task: AsyncTask) -> Any:
                running = asyncio.get_running_loop().run_in_executor(threads, in_this_thread, Task(portal, task))
                while not running.done():
                    # A thread cannot be ended. Until it returns, no other worker may begin the run.
                    with contextlib.suppress(asyncio.CancelledError):
                        await asyncio.wait([running])
                return running.result()

            running = portal.submit(self._worker.run(in_a_thread), self._worker.stop)
            try:
                with _stopped_by_signals(self.stop):
                    running.result()
            except BaseException:
                if not running.done():
                    running.cancel()
                    concurrent.futures.wait([running])
                raise

    def _report(self, error: BaseException) -> None:
        # Not in the thread of the client: no lease would be renewed while the program sends the error somewhere.
        if self._reports and self._room.acquire(blocking=False):
            self._reports.submit(self._in_its_thread, error)
        else:
            log_error(error)

    def _in_its_thread(self, error: BaseException) -> None:
        self._client._portal.handling.thread = True
        try:
            self._on_error(error)
        finally:
            self._room.release()

    def stop(self) -> None:
        """Ends run in order. Before run, it ends the next one as it begins. Any thread may call it, and a signal handler."""
        # It must not wait: a signal interrupts the main thread, which waits already.
        self._client._portal.submit(self._stop())

    async def _stop(self) -> None:
        self._worker.stop()
