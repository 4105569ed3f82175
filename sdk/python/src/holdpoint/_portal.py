"""The event loop of the programs without one: a thread of its own, in which every call is made."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

Value = TypeVar("Value")


class Portal:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, work: Coroutine[Any, Any, Value]) -> concurrent.futures.Future[Value]:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="holdpoint", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Makes a call and waits for it. When the wait is interrupted the call is cancelled."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("called in the thread of the client itself, where it would wait forever")
        future = self.submit(work)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise
        except BaseException:
            future.cancel()
            raise

    def iterate(self, items: AsyncIterator[Value]) -> Iterator[Value]:
        try:
            while True:
                try:
                    yield self.call(_next(items))
                except StopAsyncIteration:
                    return
        finally:
            self.call(_close(items))

    def close(self) -> None:
        """Ends the loop. A later call starts another."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop and thread:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


async def _next(items: AsyncIterator[Value]) -> Value:
    return await anext(items)


async def _close(items: AsyncIterator[Any]) -> None:
    await items.aclose()  # type: ignore[attr-defined]
