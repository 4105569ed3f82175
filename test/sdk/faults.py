"""Has the Python SDK meet what a real service and its network do only now and then: each case has a service of its own, which answers
as the case says."""

import asyncio
import contextlib
import decimal
import json
import logging
import os
import select
import signal
import sys
import threading
import traceback

import holdpoint
from holdpoint import AsyncHoldpoint, AsyncWorker, AttemptFailed, Holdpoint, HoldpointError, NotAllowed, RetryPolicy, Suspended, Worker, is_kind

QUICK = RetryPolicy(base_delay=0.001, max_delay=0.001, max_retry_after=0.001)
RUN = {"run_id": "run-1", "session_id": "s", "status": "running"}
CLAIM = {"run": RUN, "input": {}, "attempt": 1, "lease": {"fence": "f", "worker_id": "w", "expires_at_ms": 0}}
BEAT = {"cancel_requested": False, "expires_at_ms": 0}
PAGE = "<html>We are back soon</html>"
GATEWAY = (502, {"code": 502, "message": "no backend"})


class Service:
    """Answers each call by the first route whose name ends its path: with the next of its answers, the last of them for good. An answer
    is a document, a text, a pair of a status and one of these, with a Retry-After of 1 unless it is a third, or a function of the call's
    body."""

    def __init__(self, **routes):
        self.routes = {"claim": [{"claims": [CLAIM]}, self.hold], "heartbeat": [BEAT], "complete": [RUN], "fail": [RUN], "release": [RUN], **routes}
        self.bodies = {}
        self.heads = {}
        """The headers of the calls of each route, by their names in lower case."""
        self.targets = []
        """The paths and queries of all calls."""
        self.called = {}
        """Set with the first call of a route."""
        self.connections = 0
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
        self.connections += 1
        with contextlib.suppress(asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                size = next((int(line.split(":")[1]) for line in head if line.lower().startswith("content-length")), 0)
                body = json.loads(await reader.readexactly(size) or "null")
                self.targets.append(head[0].split(" ")[1])
                path = self.targets[-1].split("?")[0]
                name = next(name for name in self.routes if path.endswith(name))
                self.heads.setdefault(name, []).append({line.split(":")[0].lower(): line.split(": ", 1)[1] for line in head[1:] if line})
                await self.answer(name, body, writer)
        writer.close()

    async def answer(self, name, body, writer):
        answers = self.routes[name]
        given = answers.pop(0) if len(answers) > 1 else answers[0]
        self.bodies.setdefault(name, []).append(body)
        self.event(name).set()
        if callable(given):
            given = await given(body)
        status, document, after = (*given, 1)[:3] if isinstance(given, tuple) else (200, given, 1)
        text = (document if isinstance(document, str) else json.dumps(document)).encode()
        writer.write(f"HTTP/1.1 {status} x\r\nRetry-After: {after}\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text)
        await writer.drain()


class Work:
    """A worker of a service, whose handler is given."""

    def __init__(self, service, handler, *, retry=QUICK, **options):
        self.reported = []
        self.client = AsyncHoldpoint(service.url, retry=retry)
        options = {"lease_ms": 1000, "heartbeat_seconds": 0.01, "retry_seconds": 0, "on_error": self.reported.append, **options}
        self.worker = AsyncWorker(self.client, **options)
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
        "claim": [PAGE, GATEWAY, (404, PAGE), {}, "", "7", {"claims": [CLAIM]}, None], "heartbeat": [PAGE, GATEWAY, {}, third_beat, BEAT],
        "suspend": [PAGE, {}, {"run": RUN}], "resume": [PAGE, GATEWAY, {}, settle], "complete": [PAGE, GATEWAY, (302, PAGE), (408, PAGE), (408, {"code": "timeout"}), {}, RUN],
    }
    async with Service(**routes) as service:
        service.routes["claim"][-1] = service.hold
        async with Work(service, handler) as work:
            await service.event("complete").wait()
        assert service.bodies["complete"][-1]["output"] == 1, service.bodies
        assert len(service.bodies["complete"]) == 7, service.bodies
        assert all(isinstance(error, HoldpointError) for error in work.reported), work.reported


@case
async def a_refusal_after_a_lost_attempt_does_not_say_that_nothing_happened():
    lost_reply, limited = (502, {"code": 502}, 0), (429, {"code": "rate_limited"}, 0)
    for replies, lost in (
        ([lost_reply, limited], True), ([limited, lost_reply, limited], True), ([lost_reply, (401, {"code": "invalid_token"}, 0)], True),
        ([lost_reply, (408, {"code": "RequestTimeout"}, 0)], True), ([lost_reply, (404, {"code": "run_not_found"}, 0)], True),
        ([(404, {"code": "run_not_found"}, 0)], False), ([lost_reply, (409, {"code": "approval_state_conflict"}, 0)], False), ([limited], False),
    ):
        async with Service(approvals=replies) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
            try:
                await client.resolve_run_approvals("run-1", [{"request_id": "go", "behavior": "allow"}])
            except holdpoint.ProblemError as error:
                assert [error.lost, error.is_kind("unavailable"), "may have taken effect" in str(error)] == [lost] * 3, error
            else:
                raise AssertionError(replies)
    # The calls of a task outlast what a proxy answers.
    async with Service(fail=[(500, PAGE), (403, {"code": "forbidden"})]) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
        try:
            await client._patiently(1).fail_run("run-1", "f", "why")
        except holdpoint.ProblemError as error:
            assert (error.status, error.lost) == (403, True), error
        else:
            raise AssertionError("the refusal was not raised")


@case
async def a_reply_of_another_shape_ends_the_wait():
    async def handler(task):
        return await task.approve({"id": "go", "tool_name": "rm", "input": 1})

    async with Service(suspend=[{"run": RUN}], resume=[{"settled": 7, "after": "1"}]) as service, Work(service, handler, max_attempts=1) as work:
        await service.event("fail").wait()
        assert isinstance(work.reported[0], AttemptFailed), work.reported


@case
async def a_reply_without_the_members_of_a_renewal_renews_no_lease():
    lost = asyncio.Event()

    async def handler(_task):
        try:
            await asyncio.Event().wait()
        finally:
            lost.set()

    for reply in ({}, {"expires_at_ms": 1}, {"cancel_requested": False}, []):
        lost.clear()
        async with Service(heartbeat=[reply]) as service, Work(service, handler) as work:
            await lost.wait()
        assert any(is_kind(error, "lease_lost") for error in work.reported), work.reported


@case
async def a_grant_is_not_redeemed_by_a_reply_without_members():
    async with Service(redeem=[{}]) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
        try:
            await client.redeem_grant("grant", 1)
        except HoldpointError as error:
            assert error.is_kind("unavailable"), error
        else:
            raise AssertionError("redeemed")


@case
async def only_the_service_says_that_something_was_deleted_or_recorded():
    for call in (lambda client: client.revoke_rule("r"), lambda client: client.revoke_token("t"), lambda client: client.set_presence(True)):
        for answer in ({}, "<html>We are back soon</html>", (202, {}), (301, "")):
            async with Service(**{"": [answer]}) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
                try:
                    await call(client)
                except HoldpointError:
                    continue
                raise AssertionError(answer)
        async with Service(**{"": [(204, "")]}) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
            await call(client)


@case
async def a_reply_without_members_says_nothing_and_only_a_call_that_may_be_repeated_is():
    shown = {"run_id": "run-1", "request": {"id": "go"}}
    calls = {
        "approve": lambda client: client.approve(shown), "deny": lambda client: client.deny(shown),
        "answer": lambda client: client.answer(shown, value=1), "decline": lambda client: client.decline(shown),
        "cancel_question": lambda client: client.cancel_question("run-1", "go"), "retry_run": lambda client: client.retry_run("run-1"),
        "resolve_active_run_approvals": lambda client: client.resolve_active_run_approvals("s", []),
        "resolve_session_approvals": lambda client: client.resolve_session_approvals("s", []),
        "answer_session_question": lambda client: client.answer_session_question("s", {"request_id": "go", "declined": True}),
        "send_input": lambda client: client.send_input("s", {}),
        "end_session": lambda client: client.end_session("s"), "add_rule": lambda client: client.add_rule({"effect": "deny", "match": {}}),
        "create_run": lambda client: client.create_run({}), "create_session_run": lambda client: client.create_session_run("s", {}),
        "create_session": lambda client: client.create_session(), "get_session": lambda client: client.get_session("s"),
        "amend_session": lambda client: client.amend_session("s", {}), "get_request": lambda client: client.get_request("h"),
        "acknowledge_request": lambda client: client.acknowledge_request("h", "acknowledged"),
        "explain_request": lambda client: client.explain_request("h"), "explain_run": lambda client: client.explain_run("run-1"),
        "list_runs": lambda client: client.list_runs(), "list_workers": lambda client: client.list_workers(),
        "get_rule": lambda client: client.get_rule("rule-1"), "explain_rules": lambda client: client.explain_rules({"tool_name": "rm"}),
        "replay_message": lambda client: client.replay_message("s", "m"), "retry_effect": lambda client: client.retry_effect("s", "e"),
        "me": lambda client: client.me(), "list_tokens": lambda client: client.list_tokens(), "get_token": lambda client: client.get_token("t"),
        "keys": lambda client: client.keys(), "version": lambda client: client.version(), "list_webhooks": lambda client: client.list_webhooks(),
        "get_webhook": lambda client: client.get_webhook("w"), "change_webhook": lambda client: client.change_webhook("w", {}),
        "replay_webhook": lambda client: client.replay_webhook("w"), "list_channels": lambda client: client.list_channels(),
        "list_addresses": lambda client: client.list_addresses(), "get_push": lambda client: client.get_push(),
        "subscribe_push": lambda client: client.subscribe_push({}), "set_quiet_hours": lambda client: client.set_quiet_hours({}),
        "list_audit": lambda client: client.list_audit(), "redact": lambda client: client.redact("s", "a person asked for it"),
        "dead_letters": lambda client: client.dead_letters("s"), "acknowledge_message": lambda client: client.acknowledge_message("s", "m"),
        "list_session_events": lambda client: client.list_session_events("s"), "list_run_events": lambda client: client.list_run_events("run-1"),
        "all_run_events": lambda client: anext(client.all_run_events("run-1")), "all_outputs": lambda client: anext(client.all_outputs("run-1")),
    }
    once = {
        "create_token": lambda client: client.create_token({}), "rotate_token": lambda client: client.rotate_token("t", 0),
        "create_stream_ticket": lambda client: client.create_stream_ticket("/v1/stream"), "create_webhook": lambda client: client.create_webhook({}),
        "rotate_webhook": lambda client: client.rotate_webhook("w"), "test_webhook": lambda client: client.test_webhook("w"),
        "test_channel": lambda client: client.test_channel("mail", "ada@example.com"),
        "add_address": lambda client: client.add_address("mail", "ada@example.com"), "verify_address": lambda client: client.verify_address("a", "123456"),
        "mailbox": lambda client: client.mailbox("s"), "interrupt_session": lambda client: client.interrupt_session("s"),
    }
    lists = {"mailbox", "dead_letters", "list_session_events", "list_run_events", "all_run_events"}
    for name, call in {**calls, **once}.items():
        routes = {"": [{}, {} if name in lists else [], "null", (204, "")]}  # every path ends with ""
        async with Service(**routes) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
            try:
                await call(client)
            except HoldpointError as error:
                assert error.is_kind("unavailable"), (name, error)
                assert str(error).endswith("the outcome is not known"), (name, error)
            else:
                raise AssertionError(name)
            assert all(body == service.bodies[""][0] for body in service.bodies[""]), name  # each attempt is the same call
            assert len(service.bodies[""]) == (1 if name in once else 4), (name, service.bodies)


@case
async def a_call_whose_repetition_is_refused_is_made_once():
    for call in (lambda client: client.remove_webhook("w"), lambda client: client.remove_address("a")):
        async with Service(**{"": [PAGE, (204, "")]}) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
            try:
                await call(client)
            except HoldpointError as error:
                assert error.is_kind("unavailable"), error
            else:
                raise AssertionError("repeated")
            assert len(service.bodies[""]) == 1, service.bodies
    async with Service(**{"": [PAGE, (204, "")]}) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
        await client.clear_quiet_hours()
        assert len(service.bodies[""]) == 2, service.bodies


@case
async def a_full_mailbox_is_reported_to_the_handler_which_alone_empties_it():
    codes = []
    for park in (True, False):
        async def handler(task, park=park):
            try:
                await task.ask_parent({"park": park, "request": {"id": "which", "questions": []}})
            except HoldpointError as error:
                codes.append(getattr(error, "code", error))

        async with Service(clarifications=[(429, {"code": "mailbox_full"})]) as service, Work(service, handler, lease_ms=60_000, heartbeat_seconds=30):
            await service.event("complete").wait()
    assert codes == ["mailbox_full"] * 2, codes


@case
async def an_output_that_is_refused_fails_the_run_once():
    for output, complete in ((1, (413, {"code": "body_too_large"})), (object(), RUN), (float("nan"), RUN)):
        async def handler(_task, output=output):
            return output

        async with Service(complete=[complete]) as service, Work(service, handler) as work:
            await service.event("fail").wait()
            assert [getattr(error, "last", None) for error in work.reported] == [True], work.reported
            assert service.bodies["fail"][0]["error"].startswith("output: "), service.bodies


@case
async def the_text_of_a_failure_is_what_the_service_accepts():
    async def handler(_task):
        raise ValueError("\0\ud800" + "é" * (1 << 20))

    async with Service() as service, Work(service, handler, max_attempts=1, lease_ms=30_000):
        await service.event("fail").wait()
        assert service.bodies["fail"][0]["error"] == "?" + "é" * 8191, len(service.bodies["fail"][0]["error"])


@case
async def what_has_no_text_fails_the_run_all_the_same():
    class Unreadable(Exception):
        def __str__(self):
            return self.missing

    class Wrong(Exception):
        def __str__(self):
            return None

    class Refused(NotAllowed):
        def __str__(self):
            return self.missing

    async def handler(task):
        if ends:
            await task.complete(1)
        raise raised

    for raised in (Unreadable(), Wrong(), ValueError(), Refused("rm", {"outcome": "denied"})):
        name, ends = type(raised).__name__, False
        async with Service() as service, Work(service, handler, max_attempts=1) as work:
            await service.event("fail").wait()
            assert service.bodies["fail"][0]["error"] == name, service.bodies
            assert [type(error) for error in work.reported] == ([] if isinstance(raised, NotAllowed) else [AttemptFailed]), work.reported
        ends = True
        async with Service() as service:
            async with Work(service, handler) as work:
                await service.event("complete").wait()
            assert [str(error) for error in work.reported] == [f"run run-1: handler failed after it had ended the run: {name}"], work.reported


@case
async def an_id_that_is_not_text_is_refused():
    async with Service() as service, AsyncHoldpoint(service.url) as client:
        try:
            await client.get_run("\ud800")
        except HoldpointError as error:
            assert error.is_kind("invalid"), error


@case
async def an_event_that_is_not_text_is_refused():
    kinds = []

    async def handler(task):
        for appended in (task.emit({"type": "x", "t": "\ud800"}), task.output("\ud800")):
            outcome = (await asyncio.gather(appended, return_exceptions=True))[0]
            kinds.append(is_kind(outcome, "invalid"))

    async with Service() as service:
        async with Work(service, handler):
            await service.event("complete").wait()
    assert kinds == [True, True], kinds


@case
async def a_failed_renewal_is_repeated_before_the_lease_ends():
    real, asked = asyncio.sleep, []

    async def sleep(delay, *more):
        asked.append(delay)
        await real(delay, *more)

    lost = asyncio.Event()

    async def handler(_task):
        try:
            await asyncio.Event().wait()
        finally:
            lost.set()

    asyncio.sleep = sleep
    try:
        async with Service(heartbeat=[(500, {"code": "internal"})]) as service, Work(service, handler, heartbeat_seconds=0.9):
            await lost.wait()
    finally:
        asyncio.sleep = real
    assert 0.9 in asked and 0.225 not in asked, asked


@case
async def a_report_that_fails_changes_nothing():
    renewed, reported = asyncio.Event(), []

    async def third_beat(_body):
        renewed.set()
        return BEAT

    def on_error(error):
        reported.append(str(error))
        raise RuntimeError(error.run_id)  # most reports have none

    async def handler(_task):
        await renewed.wait()
        raise ValueError("no such file")

    logger = logging.getLogger("holdpoint")
    logger.disabled = True
    try:
        claims = [(500, {"code": "internal"}), {"claims": [CLAIM]}, None]
        async with Service(claim=claims, heartbeat=[(500, {"code": "internal"}), BEAT, third_beat]) as service:
            claims[2] = service.hold
            async with Work(service, handler, max_attempts=1, on_error=on_error):
                await service.event("fail").wait()
            assert service.bodies["fail"] == [{"fence": "f", "error": "no such file"}], service.bodies
        texts = ("internal", "was not renewed", "which was the last")
        assert len(reported) == 3 and all(text in report for text, report in zip(texts, reported)), reported
    finally:
        logger.disabled = False


@case
async def a_report_may_block_and_stop_its_worker():
    renewed = threading.Event()

    async def third_beat(_body):
        renewed.set()
        return BEAT

    def on_error(_error):
        renewed.wait()
        assert client.get_run("run-1") == RUN
        worker.stop()

    async with Service(heartbeat=[(500, {"code": "internal"}), BEAT, third_beat], **{"run-1": [RUN]}) as service:
        client = Holdpoint(service.url, retry=QUICK)
        worker = Worker(client, lease_ms=60_000, heartbeat_seconds=0.01, on_error=on_error)
        await asyncio.to_thread(worker.run, lambda _task: renewed.wait())
        await asyncio.to_thread(client.close)
        assert "complete" in service.bodies and len(service.bodies["run-1"]) == 1, service.bodies


@case
async def reports_that_take_long_do_not_pile_up():
    logged, reported, released = threading.Event(), [], threading.Event()

    class Logged(logging.Handler):
        def emit(self, record):
            logged.set()

    def on_error(error):
        reported.append(error)
        released.wait()

    logger, handler = logging.getLogger("holdpoint"), Logged()
    logger.addHandler(handler)
    logger.propagate = False
    try:
        async with Service(claim=[(500, {"code": "internal"})]) as service:
            client = Holdpoint(service.url, retry=QUICK)
            worker = Worker(client, on_error=on_error)
            working = asyncio.create_task(asyncio.to_thread(worker.run, lambda _task: None))
            await asyncio.to_thread(logged.wait)
            worker.stop()
            released.set()
            await working
            await asyncio.to_thread(client.close)
        assert len(reported) >= 100, len(reported)
    finally:
        logger.removeHandler(handler)
        logger.propagate = True


@case
async def a_report_that_exits_does_not_end_the_thread_of_the_client():
    async with Service(claim=[(500, {"code": "internal"}), (500, {"code": "internal"}), None]) as service:
        service.routes["claim"][2] = service.hold
        logging.getLogger("holdpoint").disabled = True
        try:
            with Holdpoint(service.url, retry=QUICK) as client:
                worker = Worker(client, on_error=lambda _error: sys.exit("no such file"))
                working = asyncio.create_task(asyncio.to_thread(worker.run, lambda _task: None))
                while len(service.bodies.get("claim", [])) < 3:
                    await asyncio.sleep(0.001)
                worker.stop()
                await working
        finally:
            logging.getLogger("holdpoint").disabled = False


@case
async def a_known_decision_allows_nothing_without_the_lease():
    from holdpoint import _lease

    request = {"id": "go", "tool_name": "rm", "input": 1}
    settled = {"request": request, "resolution": {"outcome": "allowed", "behavior": "allow"}, "settled_number": "1"}
    claim = {**CLAIM, "resume": {"suspension_id": "s", "approvals": [settled], "questions": []}}
    beats = {"cancelled": {**BEAT, "cancel_requested": True}, "lease_lost": BEAT, "suspended": BEAT}
    real = _lease.now
    for kind, beat in beats.items():
        refused = []

        async def handler(task):
            assert (await task.approve(request))["outcome"] == "allowed"
            if kind == "lease_lost":  # as after a call that kept the event loop busy: no renewal has noticed
                _lease.now = lambda: real() + 60
            if kind == "suspended":
                with contextlib.suppress(Suspended):
                    await task.suspend({"approvals": [{**request, "id": "other"}]})
            while kind == "cancelled" and not task.stopped:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(0.001)
            for call in (task.approve(request), task.suspend({"approvals": [request]})):
                try:
                    await call
                except HoldpointError as error:
                    refused.append(error.is_kind(kind))
                else:
                    refused.append(False)
            over.set()

        over = asyncio.Event()
        try:
            options = {"lease_ms": 30_000, "heartbeat_seconds": 0.01 if kind == "cancelled" else 29}
            async with Service(claim=[{"claims": [claim]}, None], heartbeat=[beat], suspend=[{"run": RUN}]) as service:
                service.routes["claim"][1] = service.hold
                async with Work(service, handler, **options):
                    await over.wait()
        finally:
            _lease.now = real
        assert refused == [True, True], (kind, refused)


@case
async def a_decision_that_comes_with_a_cancel_allows_nothing():
    request = {"id": "go", "tool_name": "rm", "input": 1}
    settled = {"request": request, "resolution": {"outcome": "allowed", "behavior": "allow"}, "settled_number": "1"}
    resume = [{"settled": [settled], "after": "1", "open": 0, "cancel_requested": True}]
    refused = []

    def handler(task):
        try:
            refused.append(wait(task))
        except HoldpointError as error:
            refused.append(error.is_kind("cancelled"))
        worker.stop()

    for reply, wait in (
        ({"run": RUN}, lambda task: task.approve(request)),
        ((409, {"code": "id_conflict"}), lambda task: task.suspend({"approvals": [request]})),
    ):
        async with Service(claim=[{"claims": [CLAIM]}, None], suspend=[reply], resume=resume) as service:
            service.routes["claim"][1] = service.hold
            client = Holdpoint(service.url, retry=QUICK)
            worker = Worker(client)
            await asyncio.to_thread(worker.run, handler)
            await asyncio.to_thread(client.close)
    assert refused == [True, True], refused


@case
async def a_signal_handler_may_stop_a_worker_in_the_middle_of_a_call():
    async with Service() as service:
        client = Holdpoint(service.url, retry=QUICK)
        worker = Worker(client)

        def interrupted():
            with client._portal._lock:  # as a call of the same thread holds it when it begins
                worker.stop()

        await asyncio.to_thread(interrupted)
        await asyncio.to_thread(worker.run, lambda _task: None)
        await asyncio.to_thread(client.close)
        assert not service.targets, service.targets


@case
async def one_text_is_no_list_of_agents():
    async with Service() as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
        try:
            await AsyncWorker(client, agent_ids="cleaner").run(lambda _task: None)
        except HoldpointError as error:
            assert error.is_kind("invalid") and "agent_ids" in str(error), error
        else:
            raise AssertionError("it works for the agents c, l, e, a, n and r")
        assert not service.targets


@case
async def none_is_no_checkpoint():
    async def handler(task):
        for checkpoint in (None, 0):
            await task.save_checkpoint(checkpoint)

    async with Service() as service:
        async with Work(service, handler, lease_ms=60_000, heartbeat_seconds=30):
            await service.event("complete").wait()
        assert service.bodies["heartbeat"] == [{"fence": "f", "lease_ms": 60000}, {"fence": "f", "lease_ms": 60000, "checkpoint": 0}], service.bodies


@case
async def a_sensitive_request_that_is_open_is_adopted():
    request = {"id": "go", "tool_name": "psql", "tool_call_id": "go", "input": {"password": "secret"}, "sensitive_paths": ["/password"]}
    settled = {"request": request, "resolution": {"outcome": "allowed", "behavior": "allow"}, "settled_number": "1"}
    shown = {**RUN, "pending_approvals": [{**request, "input": {"password": {"sensitive": True}}}]}
    outcomes = []
    for tool, password, directory in (("psql", "secret", ""), ("psql", "other", ""), ("rm", "secret", ""), ("psql", "secret", "/elsewhere")):
        routes = {"suspend": [(409, {"code": "id_conflict"})], "run-1": [shown], "resume": [{"settled": [settled], "after": "1", "open": 0, "cancel_requested": False}]}
        async with Service(**routes) as service:

            async def handler(task, tool=tool, password=password, directory=directory, service=service):
                refused = False
                try:
                    await task.approve({"id": "go", "tool_name": tool, "input": {"password": password}, "directory": directory})
                except HoldpointError as error:
                    refused = error.is_kind("id_conflict")
                outcomes.append((refused, len(service.bodies.get("resume", []))))

            async with Work(service, handler):
                await service.event("complete").wait()
    assert outcomes == [(False, 1), (True, 1), (True, 0), (True, 0)], outcomes


@case
async def an_answer_is_for_the_options_that_were_shown():
    def question(**option):
        return {"id": "go", "questions": [{"id": "q", "question": "Where to?", "options": [{"id": "o", "label": "A", **option}]}]}

    answered = {"outcome": "answered", "answers": [{"question_id": "q", "selected_option_ids": ["o"]}]}
    resume = {"suspension_id": "s", "approvals": [], "questions": [{"request": question(description="staging"), "resolution": answered}]}
    outcomes = []

    async def handler(task):
        for option in ({"description": "production"}, {}, {"description": "staging", "preview": "x"}, {"description": "staging", "preview": ""}):
            refused = False
            try:
                await task.ask(question(**option))
            except HoldpointError as error:
                refused = error.is_kind("id_conflict")
            outcomes.append(refused)

    async with Service(claim=[{"claims": [{**CLAIM, "resume": resume}]}, None]) as service:
        service.routes["claim"][-1] = service.hold
        async with Work(service, handler):
            await service.event("complete").wait()
    assert outcomes == [True, True, True, False], outcomes


@case
async def a_decision_on_a_later_page_is_found():
    def page(after, *ids):
        allowed = {"outcome": "allowed", "behavior": "allow"}
        settled = [{"request": {"id": name, "tool_name": "rm", "input": 1}, "resolution": allowed, "settled_number": after} for name in ids]
        return {"after": after, "settled": settled, "open": 1, "cancel_requested": False}

    asked = {"id": "go", "tool_name": "rm", "input": 1}
    for call in (lambda task: task.approve(asked), lambda task: task.suspend({"approvals": [asked]})):
        # A request stays open, so that the last page has no decisions.
        routes = {"suspend": [(409, {"code": "id_conflict"})], "run-1": [RUN], "resume": [page("1", "first"), page("3", "go"), page("3")]}
        async with Service(**routes) as service, Work(service, call) as work:
            await service.event("complete").wait()
        assert not work.reported, work.reported
        read = [target.partition("after=")[2].partition("&")[0] for target in service.targets if "/resume" in target]
        assert read == ["0", "1", "3"], read


@case
async def a_checkpoint_includes_the_decisions_of_rules():
    polled, suspended, outcomes = asyncio.Event(), asyncio.Event(), []

    def allowed(name):
        return {"request": {"id": name, "tool_name": "rm", "input": 1}, "resolution": {"outcome": "allowed", "behavior": "allow"}}

    def ruled(name):
        return {"run": RUN, "resume": {"suspension_id": name, "approvals": [allowed(name)], "questions": []}}

    def page(after, **decisions):
        settled = [{**allowed(name), "settled_number": number} for name, number in decisions.items()]
        return {"after": after, "settled": settled, "open": 0, "cancel_requested": False}

    async def poll(body):
        polled.set()
        await service.hold(body)

    async def suspend(_body):
        suspended.set()
        return {"run": RUN}

    async def handler(task):
        async def ask(name):
            return await task.approve({"id": name, "tool_name": "rm", "input": 1})

        await ask("first")
        for step in (1, 2):
            await task.save_checkpoint(step)
        opened = asyncio.create_task(ask("open"))
        await polled.wait()
        await ask("second")
        await task.save_checkpoint(3)  # the page for it has the decision about the open request, too
        outcomes.append((await opened)["outcome"])
        await task.save_checkpoint(4)
        await ask("third")
        await task.suspend({"approvals": [{"id": "last", "tool_name": "rm", "input": 1}], "checkpoint": 5})

    routes = {
        "suspend": [ruled("first"), {"run": RUN}, ruled("second"), ruled("third"), suspend],
        "resume": [page("1", first="1"), poll, page("3", second="2", open="3"), page("4", third="4")],
    }
    async with Service(**routes) as service, Work(service, handler, lease_ms=60_000, heartbeat_seconds=30):
        await suspended.wait()
    assert outcomes == ["allowed"], outcomes
    included = [body["settled_after"] for body in [*service.bodies["heartbeat"], service.bodies["suspend"][-1]]]
    assert included == ["1", "1", "2", "3", "4"], included
    assert len(service.bodies["resume"]) == 4, service.targets


@case
async def a_reply_with_the_decisions_of_another_suspension_is_not_taken():
    other = {"request": {"id": "other", "tool_name": "rm", "input": 1}, "resolution": {"outcome": "allowed", "behavior": "allow"}}
    resume = {"suspension_id": "other", "approvals": [other], "questions": []}

    async def handler(task):
        await task.suspend({"suspension_id": "own", "approvals": [{"id": "go", "tool_name": "rm", "input": 1}]})

    suspended = {"run": {**RUN, "lease": CLAIM["lease"]}, "resume": resume}
    async with Service(suspend=[suspended]) as service:
        service.called["complete"] = service.event("fail")  # the run ends either way
        async with Work(service, handler, max_attempts=1) as work:
            await service.event("fail").wait()
    assert [isinstance(error, AttemptFailed) for error in work.reported] == [True], work.reported


@case
async def what_a_handler_changes_during_a_call_is_recorded_as_it_was():
    approval = {"id": "go", "tool_name": "rm", "tool_call_id": "go", "input": 1}
    resolution = {"outcome": "allowed", "behavior": "allow"}
    resume = {"suspension_id": "s", "approvals": [{"request": approval, "resolution": resolution, "settled_number": "1"}], "questions": []}
    recorded = []
    for later in (1, 2):
        event, saved, suspended = {"type": "step", "number": 1}, {"number": 1}, {"number": 1}

        def answers(changed, reply, later=later):
            async def answer(_body):
                changed["number"] = later
                return reply

            return [answer]

        async def handler(task, event=event, saved=saved, suspended=suspended):
            await task.emit(*[event] * 257)
            await task.output("goes on")
            await task.save_checkpoint(saved)
            await task.output("goes on")
            await task.suspend({"suspension_id": "s", "approvals": [approval], "checkpoint": suspended})
            await task.output("goes on")

        routes = {
            "events": answers(event, {"last_event_id": "1"}), "heartbeat": answers(saved, BEAT),
            "suspend": answers(suspended, {"run": {**RUN, "lease": CLAIM["lease"]}, "resume": resume}),
        }
        async with Service(**routes) as service, Work(service, handler, lease_ms=60_000, heartbeat_seconds=30):
            await service.event("complete").wait()
        keys = [head["idempotency-key"] for head in service.heads["events"]]
        recorded.append((service.bodies["events"], keys, service.bodies["heartbeat"], service.bodies["suspend"]))
    assert recorded[0] == recorded[1], recorded[1][1:]
    assert len(recorded[1][0]) == 5, len(recorded[1][0])


@case
async def a_run_id_that_is_used_again_has_other_keys():
    async def handler(task):
        await task.output("begins")

    keys = []
    for submitted in (1, 2, 2):
        claims = [{"claims": [{**CLAIM, "run": {**RUN, "submitted_at_ms": submitted}}]}, None]
        async with Service(claim=claims, events=[{"last_event_id": "1"}]) as service:
            claims[-1] = service.hold
            async with Work(service, handler):
                await service.event("complete").wait()
            keys += [head["idempotency-key"] for head in service.heads["events"]]
    assert len(keys) == 3 and keys[0] != keys[1] == keys[2], keys


@case
async def a_checkpoint_of_a_settled_suspension_repeats_no_events():
    approval = {"id": "go", "tool_name": "rm", "tool_call_id": "go", "input": 1}
    settled = {"request": approval, "resolution": {"outcome": "allowed", "behavior": "allow"}, "settled_number": "1"}
    resume = {"suspension_id": "s", "approvals": [settled], "questions": []}
    crashed = []

    async def handler(task):
        await task.suspend({"approvals": [approval], "checkpoint": {"step": 1}})
        await task.output("works")
        if not crashed:
            crashed.append(True)
            raise RuntimeError("crash")

    claims = [{"claims": [CLAIM]}, {"claims": [{**CLAIM, "checkpoint": {"step": 1}, "resume": resume}]}, None]
    suspended = {"run": {**RUN, "lease": CLAIM["lease"]}, "resume": resume}
    async with Service(claim=claims, suspend=[suspended], events=[{"last_event_id": "1"}]) as service:
        claims[-1] = service.hold
        async with Work(service, handler):
            await service.event("complete").wait()
        keys = [head["idempotency-key"] for head in service.heads["events"]]
        assert len(keys) == 2 and keys[0] == keys[1], keys


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


@case
async def an_approval_with_decimals_and_other_names_gets_its_decision():
    value = {"price": decimal.Decimal("19.99"), "rates": (decimal.Decimal("1.10"), 1), 7: None}
    request = holdpoint.decode_json(holdpoint.encode_json({"id": "go", "tool_name": "pay", "input": value}))
    settled = {"request": request, "resolution": {"outcome": "allowed", "behavior": "allow"}}
    resume = {"suspension_id": "s", "approvals": [settled], "questions": []}

    async def handler(task):
        try:
            await task.approve({"id": "go", "tool_name": "pay", "input": {**value, "price": decimal.Decimal("19.991")}})
        except HoldpointError as error:
            assert error.is_kind("id_conflict"), error
        else:
            raise AssertionError("allowed for another input")
        return await task.approve_input({"id": "go", "tool_name": "pay", "input": value})

    async with Service(claim=[{"claims": [{**CLAIM, "resume": resume}]}, None]) as service:
        service.routes["claim"][-1] = service.hold
        async with Work(service, handler) as work:
            await asyncio.wait([asyncio.create_task(service.event(end).wait()) for end in ("complete", "release")], return_when=asyncio.FIRST_COMPLETED)
        assert not work.reported, work.reported
        assert service.bodies["complete"][0]["output"] == {"price": 19.99, "rates": [1.1, 1], "7": None}, service.bodies


@case
async def a_run_is_released_when_its_thread_has_returned():
    stopped, returned = threading.Event(), threading.Event()
    order = []

    async def released(_body):
        order.append("released")
        return RUN

    def handler(task):
        stopped.wait()
        while task.stopped is None:
            returned.wait(0.001)
        order.append("returned")
        raise RuntimeError("stopped early")

    async with Service(release=[released]) as service:
        with Holdpoint(service.url, retry=QUICK) as client:
            worker = Worker(client, drain_seconds=0, heartbeat_seconds=0.01, on_error=lambda _error: None)
            working = asyncio.create_task(asyncio.to_thread(worker.run, handler))
            await service.event("heartbeat").wait()
            await asyncio.to_thread(worker.stop)
            stopped.set()
            await working
    assert order == ["returned", "released"], order


@case
async def what_a_thread_raises_is_a_failed_attempt():
    def exits(_task):
        sys.exit("no such file")

    def runs_out(_task):
        next(iter(()))

    for handler, text in ((exits, "no such file"), (runs_out, "StopIteration")):
        async with Service() as service:
            with Holdpoint(service.url, retry=QUICK) as client:
                reported = []
                worker = Worker(client, max_attempts=1, on_error=reported.append)
                working = asyncio.create_task(asyncio.to_thread(worker.run, handler))
                await service.event("fail").wait()
                await asyncio.to_thread(worker.stop)
                await working
            assert isinstance(reported[0], AttemptFailed) and text in str(reported[0]), reported
            assert text in service.bodies["fail"][0]["error"], service.bodies


@case
async def a_close_ends_the_calls_of_other_threads():
    async with Service(**{"run-1": [RUN], "run-2": [RUN], "stream": [RUN]}) as service:
        for held in ("run-1", "run-2", "stream"):
            service.routes[held][0] = service.hold
        client = Holdpoint(service.url, retry=QUICK)
        calls = [lambda: client.get_run("run-1"), lambda: client.wait_run("run-2"), lambda: next(client.stream_run("run-1"))]
        waiting = [asyncio.create_task(asyncio.to_thread(call)) for call in calls]
        await asyncio.gather(*(service.event(held).wait() for held in ("run-1", "run-2", "stream")))
        await asyncio.to_thread(client.close)
        for outcome in await asyncio.gather(*waiting, return_exceptions=True):
            assert isinstance(outcome, HoldpointError) and "closed" in str(outcome), outcome
        service.routes["run-1"][0] = RUN
        assert await asyncio.to_thread(client.get_run, "run-1") == RUN, "a later call starts another thread"
        await asyncio.to_thread(client.close)
        await asyncio.to_thread(client.close)


@case
async def a_client_that_was_used_before_a_fork_refuses_calls():
    async with Service(**{"run-1": [RUN]}) as service:
        with Holdpoint(service.url, retry=QUICK) as client:
            await asyncio.to_thread(client.get_run, "run-1")
            child = os.fork()
            if child == 0:
                refused = 0
                try:
                    client.get_run("run-1")
                except RuntimeError as error:
                    client.close()
                    refused = "forked" in str(error)
                finally:
                    os._exit(0 if refused else 1)
            try:
                _, status = await asyncio.to_thread(os.waitpid, child, 0)
            except BaseException:
                os.kill(child, signal.SIGKILL)
                raise
            assert status == 0, status
            assert await asyncio.to_thread(client.get_run, "run-1") == RUN
            await asyncio.to_thread(client.close)


@case
async def a_program_ends_whatever_its_client_has_not_finished():
    snapshot = 'event: snapshot\nid: 1\ndata: {"status": "running"}\n\n'
    begins = "import sys, holdpoint\nclient = holdpoint.Holdpoint(sys.argv[1])\n"
    iterates = begins + "items = client.stream_run('run-1')\nnext(items)\n"
    calls = begins + "class Late:\n    def __del__(self):\n        client.get_run('run-1')\nlate = Late()\nclient.get_run('run-1')\n"
    async with Service(stream=[snapshot, None], **{"run-1": [RUN]}) as service:
        service.routes["stream"][1] = service.hold
        for program, said in ((iterates, b""), (calls, b"the program ends")):
            child = await asyncio.create_subprocess_exec(sys.executable, "-c", program, service.url, stderr=asyncio.subprocess.PIPE)
            try:
                _, errors = await child.communicate()
            finally:
                if child.returncode is None:
                    child.kill()
            assert child.returncode == 0 and said in errors and bool(said) == bool(errors), (program, errors)


@case
async def event_loops_share_no_connection():
    released, finished = asyncio.Event(), threading.Event()

    async def held(_body):
        await released.wait()
        return RUN

    async def elsewhere(client, called):
        await client.get_run("run-1")
        called()
        await asyncio.to_thread(finished.wait)
        return [await client.get_run("run-1"), await client.get_run("run-1")]

    async with Service(**{"run-1": [RUN], "run-2": [held]}) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
        here = asyncio.create_task(client.get_run("run-2"))
        await service.event("run-2").wait()
        loop, called = asyncio.get_running_loop(), asyncio.Event()
        there = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(elsewhere(client, lambda: loop.call_soon_threadsafe(called.set)))))
        await asyncio.wait([asyncio.create_task(called.wait()), there], return_when=asyncio.FIRST_COMPLETED)
        released.set()
        assert await here == RUN
        finished.set()
        assert await there == [RUN, RUN]
        assert await client.get_run("run-1") == RUN
        assert service.connections == 2, service.connections
        await asyncio.to_thread(lambda: asyncio.run(client.close()))  # whichever loop a program has left


@case
async def a_forked_child_stops_its_parents_worker_at_no_signal():
    from holdpoint._sync_worker import _stopped_by_signals

    stops = []
    with _stopped_by_signals(lambda: stops.append(1)):
        child = os.fork()
        if child == 0:
            signal.raise_signal(signal.SIGINT)
            if stops:
                os._exit(1)
            os._exit(7)
        _, status = await asyncio.to_thread(os.waitpid, child, 0)
        assert os.waitstatus_to_exitcode(status) == 7, status
        child = os.fork()
        if child == 0:
            signal.raise_signal(signal.SIGTERM)
            os._exit(1)
        _, status = await asyncio.to_thread(os.waitpid, child, 0)
        assert os.waitstatus_to_exitcode(status) == -signal.SIGTERM, status
        assert not stops
        signal.raise_signal(signal.SIGTERM)
        assert stops == [1]


@case
async def a_run_is_released_when_its_event_loop_ends():
    started = asyncio.Event()

    async def handler(_task):
        started.set()
        await asyncio.Event().wait()

    async with Service() as service, Work(service, handler):
        await started.wait()
        # asyncio.run cancels every task at a second Ctrl-C. The service of this test lives in the same loop.
        for task in asyncio.all_tasks():
            if task.get_coro().__qualname__ == "AsyncWorker._handle":
                task.cancel()
        await service.event("release").wait()


@case
async def a_stream_of_a_closed_client_ends_with_an_error():
    snapshot = 'event: snapshot\nid: 1\ndata: {"status": "running"}\n\n'
    async with Service(stream=[snapshot, None]) as service:
        service.routes["stream"][1] = service.hold
        client = Holdpoint(service.url, retry=QUICK)
        items = client.stream_run("run-1")
        assert (await asyncio.to_thread(next, items)).type == "snapshot"
        await asyncio.to_thread(client.close)
        try:
            await asyncio.to_thread(next, items)
        except HoldpointError as error:
            assert "closed" in str(error), error
        else:
            raise AssertionError("it goes on")


@case
async def a_close_stops_a_worker_in_order():
    async with Service(suspend=[{"run": RUN}], resume=[None]) as service:
        service.routes["resume"][0] = service.hold
        client, reported = Holdpoint(service.url, retry=QUICK), []
        worker = Worker(client, on_error=reported.append)
        working = asyncio.create_task(asyncio.to_thread(worker.run, lambda task: task.approve({"id": "go", "tool_name": "rm", "input": 1})))
        await service.event("resume").wait()
        await asyncio.to_thread(client.close)
        await working
        assert "release" in service.bodies and not reported, (service.bodies, reported)


@case
async def a_handler_cannot_close_its_client():
    async with Service() as service:
        client, reported = Holdpoint(service.url, retry=QUICK), []
        worker = Worker(client, max_attempts=1, on_error=reported.append)
        working = asyncio.create_task(asyncio.to_thread(worker.run, lambda _task: client.close()))
        await service.event("fail").wait()
        await asyncio.to_thread(client.close)
        await working
        assert "called by a handler" in service.bodies["fail"][0]["error"], service.bodies


@case
async def a_stop_before_the_run_is_not_lost():
    async with Service() as service:
        async with AsyncHoldpoint(service.url) as client:
            worker = AsyncWorker(client)
            worker.stop()
            await worker.run(lambda _task: None)
        assert "claim" not in service.bodies


@case
async def a_second_cancel_ends_the_drain_alone():
    draining = asyncio.Event()

    async def handler(task):
        try:
            await task.approve({"id": "go", "tool_name": "rm", "input": 1})
        except HoldpointError:
            draining.set()
            await asyncio.Event().wait()

    async with Service(suspend=[{"run": RUN}], resume=[None]) as service:
        service.routes["resume"][0] = service.hold
        async with AsyncHoldpoint(service.url, retry=QUICK) as client:
            working = asyncio.create_task(AsyncWorker(client, drain_seconds=600).run(handler))
            await service.event("resume").wait()
            working.cancel()
            await draining.wait()
            working.cancel()
            assert isinstance((await asyncio.gather(working, return_exceptions=True))[0], asyncio.CancelledError)
        assert "release" in service.bodies, service.bodies


@case
async def a_key_in_a_body_is_the_key_of_the_call():
    keyed = {"idempotency_key": "k"}
    calls = {
        "create_run": lambda client: client.create_run({"input": 1, **keyed}),
        "create_session_run": lambda client: client.create_session_run("s", {"input": 1, **keyed}),
        "send_input": lambda client: client.send_input("s", {"input": 1, **keyed}),
        "create_session": lambda client: client.create_session({"session_id": None, **keyed}),
        "add_rule": lambda client: client.add_rule({"effect": "deny", "match": {}, **keyed}),
        "suspend": lambda client: client.suspend("run-1", "f", {"approvals": [], **keyed}),
    }
    for name, call in calls.items():
        routes = {"": [{"run": RUN} if name == "suspend" else {**RUN, "rule_id": "rule-1"}]}
        async with Service(**routes) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
            await call(client)
            body = service.bodies[""][0]
            assert body["idempotency_key"] == "k", (name, body)
            assert not {"run_id", "session_id", "rule_id", "suspension_id"} & body.keys(), (name, body)
            assert "idempotency-key" not in service.heads[""][0], (name, service.heads)


@case
async def a_session_without_an_id_is_named_by_the_service_once():
    for body in (None, {}, {"session_id": None}, {"session_id": ""}):
        async with Service(sessions=[PAGE, {"session_id": "ours:1"}]) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
            assert (await client.create_session(body))["session_id"] == "ours:1"
            assert service.bodies["sessions"] == [{}, {}], service.bodies
            first, second = (head.get("idempotency-key") for head in service.heads["sessions"])
            assert first and first == second, service.heads
    async with Service(sessions=[{"session_id": "s"}]) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
        await client.create_session({"session_id": "s"})
        assert service.bodies["sessions"] == [{"session_id": "s"}], service.bodies
        assert "idempotency-key" not in service.heads["sessions"][0], service.heads


@case
async def an_input_that_does_not_wait_says_so():
    async with Service(input=[{"session_id": "s", "status": "running"}]) as service, AsyncHoldpoint(service.url) as client:
        for wait in (0, 0.5, None):
            await client.send_input("s", {"input": 1}, wait_seconds=wait)
        assert [head.get("prefer") for head in service.heads["input"]] == ["wait=0", "wait=1", None], service.heads


@case
async def events_that_do_not_go_on_end():
    page = [{"id": str(n), "event": {"type": "x"}} for n in range(1000)]  # out of a cache that ignores the query
    async with Service(events=[page]) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
        read = 0
        try:
            async for _ in client.all_run_events("run-1"):
                read += 1
                assert read <= 1000
        except HoldpointError as error:
            assert error.is_kind("unavailable") and read == 1000, (error, read)
        else:
            raise AssertionError(read)


@case
async def a_list_may_have_the_sessions_below_one():
    routes = {"": [{"items": [], "pagination": {"has_more": False, "next_cursor": None}}]}
    async with Service(**routes) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
        for options in ({"session_id": "s", "below": True}, {"session_id": "s"}, {"below": True}):
            await client.list_approvals(**options)
            assert [item async for item in client.all_questions(**options)] == []
        assert service.targets == [
            "/v1/approvals?session_id=s&page=true", "/v1/questions?session_id=s&page=true&limit=100", "/v1/sessions/s/approvals?page=true",
            "/v1/sessions/s/questions?page=true&limit=100", "/v1/approvals?page=true", "/v1/questions?page=true&limit=100",
        ], service.targets


@case
async def a_frame_of_many_lines_is_bounded():
    from holdpoint import _stream

    before, _stream.MAX_REPLY_BYTES = _stream.MAX_REPLY_BYTES, 1000
    try:
        ends = 'event: snapshot\nid: 1\ndata: {"status": "ended"}\n\n'
        for text, bounded in ((": 0123456789\n\n" * 1000 + ends, True), ("data: 0123456789\n" * 1000, False)):
            async with Service(stream=[(200, text)]) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
                try:
                    assert [item.type async for item in client.stream_session("s")] == ["snapshot"] and bounded
                except HoldpointError as error:
                    assert "a frame has more than" in str(error) and not bounded, error
    finally:
        _stream.MAX_REPLY_BYTES = before


@case
async def a_frame_without_a_document_ends_the_stream():
    snapshot = 'event: snapshot\nid: 1\ndata: {"status": "running"}\n\n'
    for text, after in (
        ("event: snapshot\nid: 1\ndata: {\n\n", ""), ("event: snapshot\nid: 1\ndata: null\n\n", ""),
        (snapshot + "event: x\nid: 2\ndata: We are back soon\n\n", ""), (snapshot + "event: x\nid: 2\ndata: []\n\n", ""),
        ("event: stream_gap\ndata: {\n\n", "1"), ("event: stream_gap\ndata: null\n\n", "1"),
    ):
        async with Service(stream=[text]) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
            try:
                async for _ in client.stream_run("run-1", after=after):
                    pass
            except HoldpointError as error:
                assert not error.is_kind("unavailable"), (text, error)
            else:
                raise AssertionError(text)
            assert len(service.targets) == 1, (text, service.targets)


@case
async def a_stream_gives_up_a_connection_without_a_reply():
    from holdpoint import _stream

    before, _stream.SILENCE_SECONDS = _stream.SILENCE_SECONDS, 0.01
    try:
        async with Service(stream=[None, (200, 'event: snapshot\nid: 1\ndata: {"status": "ended"}\n\n')]) as service:
            service.routes["stream"][0] = service.hold
            async with AsyncHoldpoint(service.url, retry=QUICK) as client:
                assert [item.type async for item in client.stream_session("s")] == ["snapshot"]
    finally:
        _stream.SILENCE_SECONDS = before


@case
async def a_lease_outlasts_a_long_retry_after():
    renewed, paused, real = asyncio.Event(), [], asyncio.sleep

    async def sleep(delay):
        if delay > 1:
            paused.append(delay)
        await real(min(delay, 0.01))

    async def second_beat(_body):
        renewed.set()
        return BEAT

    async def handler(_task):
        await renewed.wait()

    asyncio.sleep = sleep
    try:
        retry = RetryPolicy(base_delay=0.001, max_delay=0.001, max_retry_after=3600)
        options = {"retry": retry, "lease_ms": 60_000, "heartbeat_seconds": 0.01}
        async with Service(heartbeat=[(503, {}, 3600), second_beat, BEAT]) as service:
            async with Work(service, handler, **options) as work:
                await service.event("complete").wait()
            assert (paused, work.reported) == ([10.0], []), (paused, work.reported)
    finally:
        asyncio.sleep = real


@case
async def a_wait_outlasts_a_long_retry_after():
    done = {**RUN, "status": "completed"}
    snapshot = 'event: snapshot\nid: 1\ndata: {"status": "running"}\n\n'
    event = 'event: completed\nid: 2\ndata: {"id": "2", "run_id": "run-1", "event": {"type": "completed"}}\n\n'
    routes = {"run-1": [(503, {}), (429, {}), RUN, done], "stream": [snapshot, (503, {}), (429, {}), event]}
    async with Service(**routes) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
        assert (await client.wait_run("run-1"))["status"] == "completed"
        service.routes["run-1"][:] = [RUN]
        assert [item.type async for item in client.stream_run("run-1")] == ["snapshot", "event"]


@case
async def a_wait_outlasts_a_proxy_without_a_backend():
    done = {**RUN, "status": "completed"}
    snapshot = 'event: snapshot\nid: 1\ndata: {"status": "running"}\n\n'
    event = 'event: completed\nid: 2\ndata: {"id": "2", "run_id": "run-1", "event": {"type": "completed"}}\n\n'
    pages = [(status, PAGE) for status in (404, 500, 302, 408)]
    routes = {"run-1": [RUN, *pages, done], "stream": [snapshot, *pages, event]}
    async with Service(**routes) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
        assert (await client.wait_run("run-1"))["status"] == "completed"
        service.routes["run-1"][:] = [RUN]
        assert [item.type async for item in client.stream_run("run-1")] == ["snapshot", "event"]
    # Before the first reply the URL may be wrong.
    for call in (lambda client: client.wait_run("run-1"), lambda client: anext(client.stream_run("run-1"))):
        async with Service(**{"": [(404, PAGE), snapshot]}) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
            outcome = (await asyncio.gather(call(client), return_exceptions=True))[0]
            assert is_kind(outcome, "not_found"), outcome


@case
async def an_id_that_the_service_would_ignore_is_refused():
    for after in ("007", "+5", "-1", "5.", "5.abcdef", "5.ABCDEF0", "5.abcdefg", " 5", "5\n", "9223372036854775808"):
        snapshot = 'event: snapshot\nid: 6\ndata: {"status": "running"}\n\n'
        async with Service(stream=[snapshot]) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
            outcome = (await asyncio.gather(anext(client.stream_run("run-1", after=after)), return_exceptions=True))[0]
            assert is_kind(outcome, "invalid") and not service.targets, (after, outcome)
    for after in ("0", "1", "2.abcdef0", "2." + "0" * 64, "999999999999999999"):
        gap = 'event: stream_gap\ndata: {"reason": "ahead"}\n\n'
        async with Service(stream=[gap]) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
            assert (await anext(client.stream_run("run-1", after=after))).reason == "ahead", after


@case
async def a_reply_that_comes_between_calls_answers_none():
    class Balancer(Service):
        async def answer(self, name, body, writer):
            await super().answer(name, body, writer)
            if name == "run-1":  # a load balancer ends the idle connection
                writer.write(b"HTTP/1.1 408 x\r\nContent-Length: 2\r\n\r\n{}")
                writer.close()

    async with Balancer(**{"run-1": [RUN], "sessions": [{"session_id": "s"}]}) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
        await client.get_run("run-1")
        [idle] = client.transport.pool._idle_here()
        while not idle.reader._eof:
            await asyncio.sleep(0)
        assert (await client.create_session({"session_id": "s"}))["session_id"] == "s"
        assert len(service.bodies["sessions"]) == 1, service.bodies


@case
async def a_reply_that_comes_while_the_program_keeps_the_loop_busy_answers_no_call():
    class Balancer(Service):
        async def answer(self, name, body, writer):
            await super().answer(name, body, writer)
            self.writer = writer

    async with Balancer(**{"run-1": [RUN], "sessions": [{"session_id": "s"}]}) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
        await client.get_run("run-1")
        [idle] = client.transport.pool._idle_here()
        service.writer.write(b"HTTP/1.1 408 x\r\nContent-Length: 2\r\n\r\n{}")
        select.select([idle.writer.get_extra_info("socket")], [], [])  # it has arrived, and the loop has not read it
        assert idle.is_quiet()
        assert (await client.create_session({"session_id": "s"}))["session_id"] == "s"
        assert len(service.bodies["sessions"]) == 1, service.bodies


@case
async def the_stream_of_the_inbox_says_once_that_its_connection_is_lost():
    snapshot = 'event: snapshot\ndata: {"pending_approvals": [], "pending_questions": []}\n\n'
    async with Service(stream=[snapshot, (503, {}), (503, {}), snapshot]) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
        items = client.stream_inbox()
        assert [(item.type, item.reason) for item in [await anext(items) for _ in range(3)]] == [("snapshot", ""), ("gap", "lost"), ("snapshot", "")]


@case
async def a_long_integer_is_read():
    digits = "7" * 5000
    value = holdpoint.decode_json(f'{{"n":{digits},"m":[-{digits}]}}')
    assert holdpoint.encode_json(value) == f'{{"n":{digits},"m":[-{digits}]}}'
    assert holdpoint.input_digest(value) == holdpoint.input_digest({"n": decimal.Decimal(digits), "m": [decimal.Decimal("-" + digits)]})


@case
async def a_reply_that_is_too_large_is_not_asked_for_again():
    from holdpoint import _http

    before, _http.MAX_REPLY_BYTES = _http.MAX_REPLY_BYTES, 10
    try:
        async with Service(**{"run-1": [RUN]}) as service, AsyncHoldpoint(service.url, retry=QUICK) as client:
            try:
                await client.get_run("run-1")
            except HoldpointError as error:
                assert not is_kind(error, "unavailable"), error
            assert len(service.bodies["run-1"]) == 1, service.bodies
    finally:
        _http.MAX_REPLY_BYTES = before


@case
async def a_wait_that_is_given_up_as_its_decision_arrives_ends_no_other():
    from holdpoint._waits import Waits

    class Lease:
        run_id, fence, stopped, ended, ending, withdrawn = "run-1", "f", None, None, False, 0

        def __init__(self):
            self.client = self.transport = self

        def require_held(self):
            pass

        async def while_leased(self, call):
            return await call

        async def suspend(self, *_):
            return {}

        async def await_settled(self, *_):
            await asyncio.Event().wait()

        async def withdraw(self, *_, **__):
            self.withdrawn += 1

        def pauses(self):
            return self

    def decide(waits, asked):
        settled = {"request": asked, "resolution": {"outcome": "allowed", "behavior": "allow"}, "settled_number": "1"}
        waits._record({"settled": [settled], "after": "1", "open": 0, "cancel_requested": False})

    lease = Lease()
    waits = Waits(lease, 1)
    asked = [{"id": name, "tool_name": "rm", "input": 1} for name in ("decided", "open", "taken up")]
    tasks = [asyncio.ensure_future(waits.until(one, None)) for one in asked]
    while len(waits._raised()) < len(asked):
        await asyncio.sleep(0)
    tasks[0].cancel()
    await asyncio.sleep(0)  # its withdrawal begins after the next line
    decide(waits, asked[0])
    tasks[2].cancel()
    again = asyncio.ensure_future(waits.until(asked[2], None))
    for task in (tasks[0], tasks[2]):
        assert isinstance((await asyncio.gather(task, return_exceptions=True))[0], asyncio.CancelledError)
    assert not tasks[1].done() and not again.done(), (tasks, again)
    assert lease.withdrawn == 0, lease.withdrawn
    decide(waits, asked[1])
    decide(waits, asked[2])
    assert [(await task)["request"]["id"] for task in (tasks[1], again)] == ["open", "taken up"]
    waits.end(HoldpointError([], "over"))
    await waits.over()


async def main():
    failed = 0
    for run in CASES:
        try:
            async with asyncio.timeout(20):
                await run()
        except BaseException:
            failed += 1
            print(f"{run.__name__}: {traceback.format_exc()}")
    print(f"{len(CASES)} cases, {failed} failed", flush=True)
    os._exit(0)  # a thread that a failed case left behind would be waited for


asyncio.run(main())
