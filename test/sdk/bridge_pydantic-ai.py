"""Holds the bridge of Pydantic AI to what its page says, with tasks of its own."""

import asyncio
import json

from bridge import approved_by
from holdpoint import HoldpointError, Suspended
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

ran = []


def stub(messages, _):
    """Deploys three times in turns, and then repeats what the calls returned. Its provider gives the call of each turn the same id."""
    returned = [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if len(returned) == 3:
        return ModelResponse(parts=[TextPart("; ".join(returned))])
    return ModelResponse(parts=[ToolCallPart("deploy", '{"to": "production"}', tool_call_id="call_0")])


agent = Agent(FunctionModel(stub), output_type=[str, DeferredToolRequests])


@agent.tool_plain(requires_approval=True)
def deploy(to: str) -> str:
    ran.append(to)
    return f"deployed to {to}"


class Task:
    """A claim of a run: after dies calls of the service, the worker dies."""

    def __init__(self, checkpoint=None, resume=None, redeemed=(), dies=100):
        self.input, self.checkpoint, self.resume = "go", checkpoint, resume
        self.redeemed, self.dies, self.asked = set(redeemed), dies, []

    def call(self):
        self.dies -= 1
        if self.dies < 0:
            raise ConnectionError("the worker dies")

    async def suspend(self, suspension):
        self.checkpoint, self.asked = json.loads(json.dumps(suspension["checkpoint"])), suspension["approvals"]
        raise Suspended

    async def redeem_grant(self, resolution, value):
        self.call()
        assert value == resolution.get("updated_input", {"to": "production"}), value
        if resolution["request_id"] in self.redeemed:
            raise HoldpointError(["grant_redeemed"], "it was redeemed before")
        self.redeemed.add(resolution["request_id"])

    async def save_checkpoint(self, checkpoint):
        self.call()
        self.checkpoint = json.loads(json.dumps(checkpoint))


def decided(task, **resolution):
    """The resume of a run whose only request was decided."""
    [request] = task.asked
    resolution = {"request_id": request["id"], "outcome": {"allow": "allowed", "deny": "denied"}[resolution["behavior"]], **resolution}
    return {"suspension_id": "", "approvals": [{"request": request, "resolution": resolution}], "questions": []}


def raises(kind, task):
    try:
        asyncio.run(approved_by(agent)(task))
    except kind:
        return task
    raise AssertionError(f"the handler did not raise {kind}")


# The same id of a call is another request in each turn, and no decision counts for a later one.
first = raises(Suspended, Task())
second = raises(Suspended, Task(first.checkpoint, decided(first, behavior="allow", updated_input={"to": "staging"})))
assert ran == ["staging"], ran
third = raises(Suspended, Task(second.checkpoint, decided(second, behavior="deny", reason="not now")))
assert ran == ["staging"], ran
assert len({task.asked[0]["id"] for task in (first, second, third)}) == 3
assert {task.asked[0]["tool_call_id"] for task in (first, second, third)} == {"call_0"}

# A worker that dies once it has kept a result: the next one has the result, and the tool does not run again.
allowed = decided(third, behavior="allow")
kept = Task(third.checkpoint, allowed)
output = asyncio.run(approved_by(agent)(kept))
assert ran == ["staging", "production"], ran
again = asyncio.run(approved_by(agent)(Task(kept.checkpoint, allowed, kept.redeemed)))
assert again == output == "deployed to staging; Not allowed: not now; deployed to production", (again, output)
assert ran == ["staging", "production"], ran

# One that dies in between: nobody knows whether the tool ran, so it does not run again.
died = raises(ConnectionError, Task(third.checkpoint, allowed, dies=1))
assert ran == ["staging", "production", "production"], ran
unknown = asyncio.run(approved_by(agent)(Task(died.checkpoint, allowed, died.redeemed)))
assert "may have run" in unknown, unknown
assert ran == ["staging", "production", "production"], ran

# One that dies before: the grant was not redeemed, and the tool did not run.
raises(ConnectionError, Task(third.checkpoint, allowed, dies=0))
assert ran == ["staging", "production", "production"], ran

# Without a decision nothing runs.
raises(HoldpointError, Task(third.checkpoint, None))
assert ran == ["staging", "production", "production"], ran
