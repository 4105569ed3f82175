"""Does with the Python SDK what trusted.mjs does with the TypeScript SDK."""

import json
import ssl
import sys
import threading

from holdpoint import Holdpoint, HoldpointError, RetryPolicy, Worker, is_kind

given = json.loads(sys.argv[1])
name = given["name"]
DATABASE = {"id": "which-db", "questions": [{"id": "db", "question": "Which database?", "options": [{"id": "primary"}, {"id": "replica"}]}]}


def told(call, kinds):
    try:
        call()
        return "allowed"
    except HoldpointError as error:
        return next((kind for kind in kinds if is_kind(error, kind)), repr(error))


if not given.get("agentToken"):
    service = Holdpoint(given["baseUrl"], retry=RetryPolicy(max_attempts=1))
    print(told(service.list_runs, ["unavailable"]))
    sys.exit()

trust = ssl.create_default_context(cafile=given["ca"])
agent, people, stranger = (
    Holdpoint(given["baseUrl"], token=token, ssl_context=trust) for token in (given["agentToken"], given["operatorToken"], "holdpoint_not-a-token")
)
rejected = ["unauthorized", "forbidden"]
refused = {"stranger": told(stranger.list_runs, rejected), "operator": told(lambda: people.claim_runs("w", agent_ids=[name]), rejected)}

parent = name + "-parent"
agent.create_session({"session_id": parent})
agent.create_session({"session_id": name + "-child", "parent_session_id": parent})
agent.create_run({"run_id": name, "session_id": name + "-child", "agent_id": name, "input": "copy"})
types = []


def follow():
    for item in agent.stream_run(name):
        types.append(item.event["event"]["type"] if item.event else item.type)


def handle(task):
    answer = task.ask_parent({"park": True, "checkpoint": {"step": 1}, "request": DATABASE})
    return {"summary": answer["summary"], "declined": answer["declined"], "checkpoint": task.checkpoint}


following = threading.Thread(target=follow)
following.start()
worker = Worker(agent, agent_ids=[name])
working = threading.Thread(target=worker.run, args=(handle,))
working.start()

shown = None
while shown is None:
    for shown in people.all_questions(session_id=parent):
        pass
refused["agent"] = told(lambda: agent.answer(shown, [{"question_id": "db", "selected_option_ids": ["primary"]}]), rejected)
people.answer(shown, [{"question_id": "db", "selected_option_ids": ["replica"]}])
run = people.wait_run(name)
following.join()
worker.stop()
working.join()
print(json.dumps({"refused": refused, "status": run["status"], "output": run["output"], "streamed": types[0] == "snapshot" and types[-1] == "completed"}))
