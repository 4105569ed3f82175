"""The worker for programs without asyncio."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Sequence
from typing import Any

from ._sync import Holdpoint, Task
from ._task import AsyncTask
from ._worker import AsyncWorker, log_error

Handler = Callable[[Task], Any]
"""Does the work of one run, in a thread of its own. What it returns is the run's output, unless it ended the run itself. When it
raises, the attempt failed: the run is retried, and fails with the text of the error after the last attempt. After Suspended nothing more happens."""


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
        """The options are those of AsyncWorker."""
        self._client = client
        self._concurrency = concurrency
        self._worker = AsyncWorker(
            client._async, worker_id=worker_id, agent_ids=agent_ids, concurrency=concurrency, lease_ms=lease_ms,
            heartbeat_seconds=heartbeat_seconds, poll_seconds=poll_seconds, drain_seconds=drain_seconds,
            max_attempts=max_attempts, retry_seconds=retry_seconds, on_error=on_error,
        )

    @property
    def worker_id(self) -> str:
        return self._worker.worker_id

    def run(self, handler: Handler) -> None:
        """Claims runs and calls the handler for each, until stop is called by another thread or the wait is interrupted. Then it
        claims no more, gives the handlers drain_seconds, and releases the runs of those that did not finish; it waits for their
        threads. It raises, after the same steps, when the service refuses its claims for good."""
        portal = self._client._portal
        with concurrent.futures.ThreadPoolExecutor(self._concurrency, "holdpoint-handler") as threads:

            async def in_a_thread(task: AsyncTask) -> Any:
                return await asyncio.get_running_loop().run_in_executor(threads, handler, Task(portal, task))

            running = portal.submit(self._worker.run(in_a_thread))
            try:
                running.result()
            except BaseException:
                if not running.done():
                    running.cancel()
                    concurrent.futures.wait([running])
                raise

    def stop(self) -> None:
        """Ends run in order. Any thread may call it."""

        async def stop() -> None:
            self._worker.stop()

        self._client._portal.call(stop())
