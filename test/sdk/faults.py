"""Has the Python SDK meet what a real service and its network do only now and then: each case has a service of its own, which answers
as the case says."""

import asyncio
import contextlib
import decimal
import json
import sys
import threading
import traceback

import holdpoint
from holdpoint import AsyncHoldpoint, AsyncWorker, AttemptFailed, Holdpoint, HoldpointError, RetryPolicy, Worker, is_kind

QUICK = RetryPolicy(base_delay=0.001, max_delay=0.001, max_retry_after=0.001)
RUN = {"run_id": "run-1", "session_id": "s", "status": "running"}
CLAIM = {"run": RUN, "input": {}, "attempt": 1, "lease": {"fence": "f", "worker_id": "w", "expires_at_ms": 0}}
BEAT = {"cancel_requested": False, "expires_at_ms": 0}
PAGE = "<html>We are back soon</html>"
GATEWAY = (502, {"code": 502, "message": "no backend"})


class Service:
    """Answers each call by the first route whose name ends its path: with the next of its answers, the last of them for good. An answer
    is a document, a text, a pair of a status and one of these, or a function of the call's body."""

    def __init__(self, **routes):
        self.routes = {"claim": [{"claims": [CLAIM]}, self.hold], "heartbeat": [BEAT], "complete": [RUN], "fail": [RUN], "release": [RUN], **routes}
        self.bodies = {}
        self.called = {}
        """Set with the first call of a route."""
        self.forever = asyncio.Event()

    async def hold(self, _body):
        await self.forever.wait()

    def event(self, name):
        return self.called.setdefault(name, asyncio.Event())

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.url = "http://127.0.0.1:%d" % self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self.forever.set()
        self.server.close()

    async def serve(self, reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                size = next((int(line.split(":")[1]) for line in head if line.lower().startswith("content-length")), 0)
                body = json.loads(await reader.readexactly(size) or "null")
                path = head[0].split(" ")[1].split("?")[0]
                await self.answer(next(name for name in self.routes if path.endswith(name)), body, writer)
        writer.close()

    async def answer(self, name, body, writer):
        answers = self.routes[name]
        given = answers.pop(0) if len(answers) > 1 else answers[0]
        self.bodies.setdefault(name, []).append(body)
        self.event(name).set()
        if callable(given):
            given = await given(body)
        status, document = given if isinstance(given, tuple) else (200, given)
        text = (document if isinstance(document, str) else json.dumps(document)).encode()
        writer.write(f"HTTP/1.1 {status} x\r\nRetry-After: 1\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text)
        await writer.drain()


class Work:
    """A worker of a service, whose handler is given."""

    def __init__(self, service, handler, **options):
        self.reported = []
        self.client = AsyncHoldpoint(service.url, retry=QUICK)
        options = {"lease_ms": 1000, "heartbeat_seconds": 0.01, "retry_seconds": 0, **options}
        self.worker = AsyncWorker(self.client, on_error=self.reported.append, **options)
        self.handler = handler

    async def __aenter__(self):
        self.running = asyncio.create_task(self.worker.run(self.handler))
        return self

    async def __aexit__(self, *_):
        self.worker.stop()
        await self.running
        await self.client.close()


CASES = []


def case(function):
    CASES.append(function)
    return function


@case
async def a_page_in_place_of_a_reply_is_an_outage():
    renewed = asyncio.Event()

    async def third_beat(_body):
        renewed.set()
        return BEAT

    async def settle(_body):
        settled = {"request": {"id": "go", "tool_name": "rm", "input": 1}, "resolution": {"outcome": "allowed", "behavior": "allow"}, "settled_number": "1"}
        return {"settled": [settled], "after": "1", "open": 0, "cancel_requested": False}

    async def handler(task):
        await renewed.wait()
        return await task.approve_input({"id": "go", "tool_name": "rm", "input": 1})

    routes = {
        "claim": [PAGE, GATEWAY, "", "7", {"claims": [CLAIM]}, None], "heartbeat": [PAGE, GATEWAY, third_beat, BEAT],
        "suspend": [PAGE, {"run": RUN}], "resume": [PAGE, GATEWAY, settle], "complete": [PAGE, GATEWAY, RUN],
    }
    async with Service(**routes) as service:
        service.routes["claim"][-1] = service.hold
        async with Work(service, handler) as work:
            await service.event("complete").wait()
        assert service.bodies["complete"][-1]["output"] == 1, service.bodies
        assert len(service.bodies["complete"]) == 3, service.bodies
        assert all(isinstance(error, HoldpointError) for error in work.reported), work.reported


@case
async def a_reply_of_another_shape_ends_the_wait():
    async def handler(task):
        return await task.approve({"id": "go", "tool_name": "rm", "input": 1})

    async with Service(suspend=[{"run": RUN}], resume=[{"settled": 7}]) as service, Work(service, handler, max_attempts=1) as work:
        await service.event("fail").wait()
        assert isinstance(work.reported[0], AttemptFailed), work.reported


@case
async def a_call_that_ends_the_run_ends_with_the_lease():
    async def returns(_task):
        return 1

    async def suspends(task):
        await task.suspend({"approvals": [{"id": "go", "tool_name": "rm", "input": 1}]})

    for route, handler in {"complete": returns, "suspend": suspends}.items():
        async with Service(**{route: [GATEWAY], "heartbeat": [GATEWAY]}) as service, Work(service, handler) as work:
            await service.event(route).wait()
        assert any(is_kind(error, "lease_lost") for error in work.reported), work.reported


async def main():
    failed = 0
    for run in CASES:
        try:
            async with asyncio.timeout(60):
                await run()
        except BaseException:
            failed += 1
            print(f"{run.__name__}: {traceback.format_exc()}")
    print(f"{len(CASES)} cases, {failed} failed", flush=True)


asyncio.run(main())
