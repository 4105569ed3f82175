"""The event loop of the programs without one: a thread of its own, in which every call is made."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from typing import Any, TypeVar

from .errors import HoldpointError

Value = TypeVar("Value")


class Portal:
    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler that stops a worker may interrupt a call of its own thread
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._process: int | None = None
        """The process that has the thread. A forked process inherits the loop without it, and a call would wait forever."""
        self._workers: dict[concurrent.futures.Future[Any], Callable[[], None]] = {}
        """The workers that run, and what stops each. close waits for them."""
        self._open: set[AsyncIterator[Any]] = set()
        """What iterations read. close ends them."""
        self.handling = threading.local()
        """Has the member thread in the threads of handlers, for which a worker waits."""

    def submit(self, work: Coroutine[Any, Any, Value], stop: Callable[[], None] | None = None) -> concurrent.futures.Future[Value]:
        """Starts work. A worker says how it is stopped."""
        if self._is_forked():  # before the lock, which another thread may have held at the fork
            work.close()
            raise RuntimeError("the client was used before this process was forked; make one in each process")
        if sys.is_finalizing():  # the thread has ended with the program, and the call would wait forever
            work.close()
            raise RuntimeError("called while the program ends")
        with self._lock:
            if self._loop is None:
                self._process = os.getpid()
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="holdpoint", daemon=True)
                self._thread.start()
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
            if stop:
                self._workers = {running: how for running, how in self._workers.items() if not running.done()}
                self._workers[future] = stop
            return future

    def _is_forked(self) -> bool:
        return self._process not in (None, os.getpid())

    def call(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Makes a call and waits for it. When the wait is interrupted the call is cancelled."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("called in the thread of the client itself, where it would wait forever")
        future = self.submit(work)
        try:
            return future.result()
        except concurrent.futures.CancelledError as cancelled:
            raise _closed() from cancelled
        except BaseException:
            future.cancel()
            raise

    def iterate(self, items: AsyncIterator[Value]) -> Iterator[Value]:
        self._open.add(items)
        try:
            while items in self._open:
                try:
                    yield self.call(_next(items))
                except StopAsyncIteration:
                    return
            raise _closed()
        finally:
            if items in self._open:
                self._open.discard(items)
                if not sys.is_finalizing():
                    self.call(_close(items))

    def close(self, last: Callable[[], Awaitable[None]]) -> None:
        """Stops the workers in order, ends every other call with an error, makes a last one and ends the loop. A later call starts
        another."""
        if hasattr(self.handling, "thread"):
            raise RuntimeError("called by a handler or on_error, for which it would wait forever")
        if threading.current_thread() is self._thread:
            raise RuntimeError("called in the thread of the client itself, where it would wait forever")
        if self._is_forked():
            return  # the loop and its connections are the parent's
        while True:
            with self._lock:
                running = {worker: stop for worker, stop in self._workers.items() if not worker.done()}
                loop, thread = self._loop, self._thread
                if not running:
                    unread = list(self._open)
                    self._loop, self._thread, self._process = None, None, None
                    self._open.clear()
                    break
            if loop:
                for stop in running.values():
                    loop.call_soon_threadsafe(stop)
            concurrent.futures.wait(running)
        if loop and thread:
            asyncio.run_coroutine_threadsafe(_end(unread, last), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


def _closed() -> HoldpointError:
    return HoldpointError([], "the client was closed during the call, which may or may not have taken effect")


async def _end(unread: list[AsyncIterator[Any]], last: Callable[[], Awaitable[None]]) -> None:
    """Cancels the calls of a loop, and makes the last one."""
    calls = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    await asyncio.gather(*(_close(items) for items in unread), return_exceptions=True)
    await last()


async def _next(items: AsyncIterator[Value]) -> Value:
    return await anext(items)


async def _close(items: AsyncIterator[Any]) -> None:
    await items.aclose()  # type: ignore[attr-defined]
