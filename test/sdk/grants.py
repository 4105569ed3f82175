"""Holds the library to docs/spec/grant-vectors.json, whose path is the first argument, and tries a grant of the service at the second."""

import hashlib
import json
import os
import sys
import threading
import urllib.request

from holdpoint import Holdpoint, HoldpointError, Worker, decode_json, input_digest, verify_answer, verify_grant

with open(sys.argv[1], encoding="utf-8") as file:
    vectors = json.load(file)
failed = 0
for one in vectors["grants"]:
    try:
        claims = verify_grant(vectors["keys"], one["grant"], one["tool"], decode_json(one["input"]))
        result = "ok" if claims["jti"] == "request_1" else "other claims"
    except HoldpointError as error:
        result = ",".join(error.kinds)
    if result != one["result"]:
        failed += 1
        print(f"{one['name']}: {result} and not {one['result']}")
for one in vectors["digests"]:
    if input_digest(decode_json(one["input"])) != one["digest"]:
        failed += 1
        print(f"the digest of {one['input']}")
with open(os.path.join(os.path.dirname(sys.argv[1]), "answer-vectors.json"), encoding="utf-8") as file:
    signed = json.load(file)
for one in signed["answers"]:
    try:
        result = "ok" if verify_answer(signed["keys"], decode_json(one["resolution"]))["jti"] == "request_1" else "other claims"
    except HoldpointError as error:
        result = ",".join(error.kinds)
    if result != one["result"]:
        failed += 1
        print(f"{one['name']}: {result} and not {one['result']}")
for large in ((1 << 54) + 1, 10 ** 400):
    if input_digest(large) != "sha256:" + hashlib.sha256(str(large).encode()).hexdigest():
        failed += 1
        print(f"the digest of {large}")
for refused in (float("nan"), {1: 2}, object(), "\ud800"):
    try:
        print(f"{input_digest(refused)} of {refused!r}")
        failed += 1
    except HoldpointError as error:
        assert error.is_kind("invalid")

# A grant of the service is verified, and redeemed once.
service = Holdpoint(sys.argv[2])
run = service.create_run({"agent_id": "grants", "input": {"n": 1}}).run
said = []


def handle(task):
    decision = task.approve({"id": "go", "tool_name": "deploy", "input": {"to": "staging", "n": 1.5}})
    claims = verify_grant(service.keys(), decision["grant"], "deploy", {"n": 1.5, "to": "production"})
    try:
        task.redeem_grant(decision, {"to": "staging", "n": 1.5})
    except HoldpointError as error:
        said.extend(error.kinds)
    redeemed = task.redeem_grant(decision, {"to": "production", "n": 1.5})
    assert redeemed["jti"] == claims["jti"] and claims["sub"] == run["run_id"]
    try:
        task.redeem_grant(decision, {"to": "production", "n": 1.5})
    except HoldpointError as error:
        said.extend(error.kinds)
        assert error.redemption == redeemed
    answer = task.ask({"id": "when", "questions": [{"id": "day", "question": "Which day?"}]})
    answered = verify_answer(service.keys(), answer)
    assert answered["sub"] == run["run_id"] and answered["request_id"] == "when"
    try:
        verify_answer(service.keys(), {**answer, "value": "no"})
    except HoldpointError as error:
        said.extend(error.kinds)


worker = Worker(service, agent_ids=["grants"])
working = threading.Thread(target=worker.run, args=(handle,), daemon=True)
working.start()
for item in service.stream_run(run["run_id"], after="0"):
    if item.event and item.event["event"]["type"] == "waiting_for_approval":
        break
service.approve(next(iter(service.all_approvals())), updated_input={"to": "production", "n": 1.5})
for item in service.stream_run(run["run_id"], after="0"):
    if item.event and item.event["event"]["type"] == "waiting_for_user_question":
        break
service.answer(next(iter(service.all_questions())), [{"question_id": "day", "freeform_answer": "Monday"}])
done = service.wait_run(run["run_id"], timeout_seconds=60)
if done["status"] != "completed" or sorted(said) != ["conflict", "conflict", "grant_mismatch", "grant_redeemed", "invalid_answer"]:
    failed += 1
    print(done, said)

path = f"/v1/runs/{run['run_id']}/stream"
ticket = service.create_stream_ticket(path)
with urllib.request.urlopen(f"{sys.argv[2]}{path}?ticket={ticket['ticket']}") as stream:
    assert b"snapshot" in stream.read()
print(f"{len(vectors['grants'])} grants, {len(vectors['digests'])} digests, {len(signed['answers'])} answers, {failed} failed")
sys.exit(failed > 0)
