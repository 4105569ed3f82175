"""Does the steps of scenarios.json with the Python SDK, with asyncio or without. A step is a line on standard input, its outcome one
on standard output."""

import asyncio
import concurrent.futures
import dataclasses
import sys
import threading
import time
import traceback

import holdpoint
from holdpoint import AsyncHoldpoint, AsyncWorker, AttemptFailed, Holdpoint, HoldpointError, RetryPolicy, Worker, decode_json, encode_json

base_url, flavour = sys.argv[1:]
patient = RetryPolicy(max_attempts=100, base_delay=0.02, max_delay=0.2)
results, reports, workers, streams = [], [], {}, {}


writing = threading.Lock()


def reply(outcome):
    with writing:  # print writes a line and its end apart, and threads write at once
        print(encode_json(outcome), flush=True)


def plain(value):
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) else value


def on_error(error):
    if isinstance(error, AttemptFailed):
        reports.append({"run": error.run_id, "attempt": error.attempt, "last": error.last, "cause": str(error.__cause__)})
    else:
        reports.append({"other": str(error)})


def appended(s, entries):
    return {"events": [entry["event"] for entry in entries if entry["event"]["type"] == s["type"]]}


def type_of(item):
    return item.event["event"]["type"] if item.event else item.type


def refused(error):
    members = ("status", "code", "pointer", "recorded_decision", "pending_approval")
    return {"kinds": sorted(error.kinds), **{name: getattr(error, name) for name in members if getattr(error, name, None) is not None}}


def edits(s):
    return {name: s[name] for name in ("updated_input", "reason") if name in s}


def wanted(s, shown):
    return shown["run_id"] == s["run"] and s.get("request") in (None, shown["request"]["id"])


QUESTION = {"id": "which", "questions": [{"id": "way", "question": "Which way?", "options": [{"id": "left"}, {"id": "right"}]}]}
PARKED = {"approvals": [{"id": "parked", "tool_call_id": "c", "tool_name": "deploy", "input": 1}]}


def careless(task):
    return {"approvals": [{"id": "first", "tool_name": "build", "input": task.input}, {"id": "second", "tool_name": "deploy", "input": task.input}]}


def own(task, name):
    return {"suspension_id": f"s-{name}", "approvals": [{"id": name, "tool_name": "deploy", "input": task.input}]}


def chosen(resume):
    return resume["approvals"][0]["resolution"]["outcome"]


NO_ID = {"suspension_id": "s", "questions": [{"tool_call_id": "which", "questions": [{"id": "way", "question": "Which way?"}]}]}


def answered(resume):
    return resume["questions"][0]["resolution"]["answers"][0]["freeform_answer"]


def third(task):
    return {"id": "third", "tool_name": "announce", "input": task.input}


COUNT = {"id": "count", "kind": "count", "response_schema": {"type": "object", "required": ["replicas"]}}
NOTE = {"id": "note", "kind": "note"}


def suspension(task):
    return {"approvals": [{"id": "go", "tool_call_id": "c", "tool_name": "deploy", "input": task.input}], "checkpoint": {"step": 1}}


def approved(task, decided):
    return {"outcome": decided["outcome"], "by": decided["resolved_by"], "input": decided.get("updated_input", task.input)}


def resumed(task, resume):
    decided = resume["approvals"][0]["resolution"]
    return {"outcome": decided["outcome"], "reason": decided.get("reason"), "checkpoint": task.checkpoint}


def carried(task):
    return {"approvals": [{"id": "go", "tool_call_id": "c", "tool_name": "deploy", "input": task.input}], "checkpoint": task.input}


def value_question(task):
    return {"id": "value", "kind": "value", "payload": task.input, "response_schema": {"type": "object"}}


def outcome_of(task, updated, value):
    return {"input": task.input, "updated": updated, "checkpoint": task.checkpoint, "value": value}


class Sync:
    def __init__(self):
        self.service = Holdpoint(base_url, retry=patient)

    def approve_handler(self, task):
        return approved(task, task.approve({"id": "go", "tool_name": "deploy", "input": task.input}))

    def suspend_handler(self, task):
        return resumed(task, task.suspend(suspension(task)))

    def ask_handler(self, task):
        way = task.ask(QUESTION)
        return {"way": way["answers"][0]["selected_option_ids"], "count": task.ask(COUNT)["value"], "note": task.ask(NOTE)["value"]}

    def both_handler(self, task):
        with concurrent.futures.ThreadPoolExecutor() as threads:
            ask = lambda name: task.approve({"id": name, "tool_name": name, "input": 1})["outcome"]  # noqa: E731
            return dict(zip(("one", "two"), threads.map(ask, ("one", "two"))))

    def busy_handler(self, task):
        task.output("begins")
        task.save_checkpoint(1)
        task.approve({"id": "in-place", "tool_name": "look", "input": 1})
        task.emit({"type": "step"})
        task.suspend(PARKED)
        task.ask(QUESTION)
        return "done"

    def carry_handler(self, task):
        decision = task.suspend(carried(task))["approvals"][0]["resolution"]
        updated = decision["updated_input"]
        task.redeem_grant(decision, updated)
        value = task.ask(value_question(task))["value"]
        task.emit({"type": "carried", "value": value})
        task.save_checkpoint(updated)
        return outcome_of(task, updated, value)

    def careless_handler(self, task):
        task.output("begins")
        resume = task.suspend(careless(task))
        task.output("goes on")
        second, first = holdpoint.approved(resume, "second"), holdpoint.approved(resume, "first")
        return {"first": first, "second": second, "third": task.approve_input(third(task))}

    def own_ids_handler(self, task):
        return {name: chosen(task.suspend(own(task, name))) for name in ("first", "second")}

    def no_ids_handler(self, task):
        return answered(task.suspend(NO_ID))

    def fail_handler(self, task):
        raise RuntimeError("out of paper")

    def client(self, s):
        return Holdpoint(base_url, actor=s["as"], retry=patient)

    def create_run(self, s):
        return self.service.create_run(s["body"], idempotency_key=s.get("key"))

    def wait_run(self, s):
        return self.service.wait_run(s["run"])

    def cancel_run(self, s):
        return self.service.cancel_run(s["run"])

    def retry_run(self, s):
        return self.service.retry_run(s["run"])

    def get_run(self, s):
        return self.service.get_run(s["run"])

    def appended(self, s):
        return appended(s, self.service.list_run_events(s["run"]))

    def claim(self, s):
        return self.service.claim_run(s["run"], s["worker"])

    def release(self, s):
        return self.service.release_run(s["run"], s["fence"])

    def complete(self, s):
        return self.service.complete_run(s["run"], s["fence"], s.get("output"))

    def fail(self, s):
        return self.service.fail_run(s["run"], s["fence"], s["reason"])

    def emit(self, s):
        return self.service.append_events(s["run"], s["fence"], s["events"])

    def approve(self, s):
        return self.client(s).approve(s["shown"], idempotency_key=s.get("key"), **edits(s))

    def deny(self, s):
        return self.client(s).deny(s["shown"], **edits(s))

    def answer(self, s):
        return self.client(s).answer(s["shown"], s.get("answers"), value=s.get("value"))

    def call(self, s):
        return getattr(self.client(s), s["call"])(*s["arguments"])

    def list_runs(self, s):
        return {"run_ids": [run["run_id"] for run in self.service.all_runs(session_id=s["session"])]}

    def shown(self, s):
        while True:
            for items in (self.service.all_approvals(), self.service.all_questions()):
                for shown in items:
                    if wanted(s, shown):
                        return shown
            time.sleep(0.01)

    def worker(self, s):
        handler = getattr(self, s["handler"] + "_handler")
        worker = Worker(Holdpoint(base_url), worker_id=s["worker"], agent_ids=[s["agent"]], drain_seconds=600, retry_seconds=0.01, on_error=on_error)

        def handle(task):
            results.append(result := handler(task))
            return result

        thread = threading.Thread(target=worker.run, args=(handle,))
        thread.start()
        workers[s["worker"]] = worker, thread
        return {}

    def stop_worker(self, s):
        worker, thread = workers[s["worker"]]
        worker.stop()
        thread.join()
        return {}

    def handled(self, _s):
        done = list(results)
        results.clear()
        return {"results": done}

    def reported(self, _s):
        done = list(reports)
        reports.clear()
        return {"reports": done}

    def open_stream(self, s):
        items = self.service.stream_run(s["run"], after=s.get("after", ""))
        first = next(items)
        streams[s["stream"]] = items, [type_of(first)]
        return {"type": type_of(first), "id": first.id}

    def read_stream(self, s):
        items, types = streams[s["stream"]]
        types += [type_of(item) for item in items]
        return {"types": types}

    def serve(self):
        with concurrent.futures.ThreadPoolExecutor(32) as threads:
            for line in sys.stdin:
                threads.submit(self.do, decode_json(line))

    def do(self, step):
        try:
            outcome = {"result": plain(getattr(self, step["do"])(step))}
        except HoldpointError as error:
            outcome = {"refused": refused(error)}
        except BaseException:
            outcome = {"failed": traceback.format_exc()}
        reply({"id": step["id"], **outcome})


class Async(Sync):
    """The steps that return a coroutine of the async client are those of Sync."""

    def __init__(self):
        self.service = AsyncHoldpoint(base_url, retry=patient)

    def client(self, s):
        return AsyncHoldpoint(base_url, actor=s["as"], retry=patient)

    async def approve_handler(self, task):
        return approved(task, await task.approve({"id": "go", "tool_name": "deploy", "input": task.input}))

    async def suspend_handler(self, task):
        return resumed(task, await task.suspend(suspension(task)))

    async def ask_handler(self, task):
        way = await task.ask(QUESTION)
        return {"way": way["answers"][0]["selected_option_ids"], "count": (await task.ask(COUNT))["value"], "note": (await task.ask(NOTE))["value"]}

    async def both_handler(self, task):
        one, two = await asyncio.gather(*(task.approve({"id": name, "tool_name": name, "input": 1}) for name in ("one", "two")))
        return {"one": one["outcome"], "two": two["outcome"]}

    async def busy_handler(self, task):
        await task.output("begins")
        await task.save_checkpoint(1)
        await task.approve({"id": "in-place", "tool_name": "look", "input": 1})
        await task.emit({"type": "step"})
        await task.suspend(PARKED)
        await task.ask(QUESTION)
        return "done"

    async def carry_handler(self, task):
        decision = (await task.suspend(carried(task)))["approvals"][0]["resolution"]
        updated = decision["updated_input"]
        await task.redeem_grant(decision, updated)
        value = (await task.ask(value_question(task)))["value"]
        await task.emit({"type": "carried", "value": value})
        await task.save_checkpoint(updated)
        return outcome_of(task, updated, value)

    async def careless_handler(self, task):
        await task.output("begins")
        resume = await task.suspend(careless(task))
        await task.output("goes on")
        second, first = holdpoint.approved(resume, "second"), holdpoint.approved(resume, "first")
        return {"first": first, "second": second, "third": await task.approve_input(third(task))}

    async def own_ids_handler(self, task):
        return {name: chosen(await task.suspend(own(task, name))) for name in ("first", "second")}

    async def no_ids_handler(self, task):
        return answered(await task.suspend(NO_ID))

    async def fail_handler(self, task):
        raise RuntimeError("out of paper")

    async def list_runs(self, s):
        return {"run_ids": [run["run_id"] async for run in self.service.all_runs(session_id=s["session"])]}

    async def shown(self, s):
        while True:
            for items in (self.service.all_approvals(), self.service.all_questions()):
                async for shown in items:
                    if wanted(s, shown):
                        return shown
            await asyncio.sleep(0.01)

    async def worker(self, s):
        handler = getattr(self, s["handler"] + "_handler")
        worker = AsyncWorker(AsyncHoldpoint(base_url), worker_id=s["worker"], agent_ids=[s["agent"]], drain_seconds=600, retry_seconds=0.01, on_error=on_error)

        async def handle(task):
            results.append(result := await handler(task))
            return result

        workers[s["worker"]] = worker, asyncio.create_task(worker.run(handle))
        await asyncio.sleep(0)  # it has begun
        return {}

    async def stop_worker(self, s):
        worker, running = workers[s["worker"]]
        worker.stop()
        await running
        return {}

    async def appended(self, s):
        return appended(s, await self.service.list_run_events(s["run"]))

    async def handled(self, s):
        return super().handled(s)

    async def reported(self, s):
        return super().reported(s)

    async def open_stream(self, s):
        items = self.service.stream_run(s["run"], after=s.get("after", ""))
        first = await anext(items)
        streams[s["stream"]] = items, [type_of(first)]
        return {"type": type_of(first), "id": first.id}

    async def read_stream(self, s):
        items, types = streams[s["stream"]]
        types += [type_of(item) async for item in items]
        return {"types": types}

    def serve(self):
        asyncio.run(self.serve_all())

    async def serve_all(self):
        doing = set()
        while line := await asyncio.to_thread(sys.stdin.readline):
            task = asyncio.create_task(self.do(decode_json(line)))
            doing.add(task)
            task.add_done_callback(doing.discard)

    async def do(self, step):
        try:
            outcome = {"result": plain(await getattr(self, step["do"])(step))}
        except HoldpointError as error:
            outcome = {"refused": refused(error)}
        except BaseException:
            outcome = {"failed": traceback.format_exc()}
        reply({"id": step["id"], **outcome})


assert holdpoint.__file__.find("site-packages") > 0, "the installed package is what is tested"
(Async if flavour == "async" else Sync)().serve()
