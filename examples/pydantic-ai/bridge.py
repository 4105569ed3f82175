"""Agents of Pydantic AI whose tool calls wait in holdpoint. While people decide there is no process: the messages are the checkpoint of
the run, and whichever worker claims the run afterwards goes on with them."""

from __future__ import annotations

import asyncio
from typing import Any

from holdpoint import AsyncHandler, AsyncTask, NotAllowed, approval_of, approved, is_kind, types
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelMessagesTypeAdapter, RunContext, ToolApproved, ToolDenied
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ToolCallPart
from pydantic_core import to_jsonable_python


def approved_by(agent: Agent[Any, Any], deps: Any = None) -> AsyncHandler:
    """Returns the handler of a worker. DeferredToolRequests must be among the types of the agent's output."""

    async def handle(task: AsyncTask) -> Any:
        kept: dict[str, Any] = dict(task.checkpoint or {"round": 0})
        settled = task.resume
        while True:
            if "messages" not in kept:
                result = await agent.run(task.input, deps=deps)
            else:
                decisions = Decisions(task, kept, settled)
                messages = ModelMessagesTypeAdapter.validate_json(kept["messages"])
                result = await agent.run(
                    message_history=messages, deferred_tool_results=decisions.results(), capabilities=[decisions], deps=deps
                )
            requests = result.output
            if not isinstance(requests, DeferredToolRequests):
                return to_jsonable_python(requests)
            if requests.calls:
                raise RuntimeError(f"{requests.calls[0].tool_name} is an external tool: people are asked about calls, and do not make them")
            kept = {
                "round": kept["round"] + 1,
                "messages": ModelMessagesTypeAdapter.dump_json(result.all_messages()).decode(),
                "calls": [call.tool_call_id for call in requests.approvals],
            }
            approvals = [approval(kept["round"], number, call) for number, call in enumerate(requests.approvals)]
            # It raises, and the handler begins again with the checkpoint once everything is settled,
            # unless standing rules settle it at once.
            settled = await task.suspend({"checkpoint": kept, "approvals": approvals})

    return handle


def request_id(turn: int, number: int) -> str:
    """Tells apart the requests of a run. The ids of calls do not: some providers count the calls of each turn from zero."""
    return f"call-{turn}-{number}"


def approval(turn: int, number: int, call: ToolCallPart) -> dict[str, Any]:
    """What a person is asked about one call."""
    arguments = call.args_as_dict(raise_if_invalid=True)
    return {"id": request_id(turn, number), "tool_call_id": call.tool_call_id, "tool_name": call.tool_name, "input": arguments}


class Decisions(AbstractCapability[Any]):
    """The decisions about the calls of one turn. Each approved call runs at most once, even if another worker continues the run."""

    def __init__(self, task: AsyncTask, kept: dict[str, Any], settled: types.Resume | None) -> None:
        self.task, self.kept, self.settled = task, kept, settled or {"suspension_id": "", "approvals": [], "questions": []}
        self.ids = {call: request_id(kept["round"], number) for number, call in enumerate(kept["calls"])}
        self.saving = asyncio.Lock()

    def results(self) -> DeferredToolResults:
        """The answer to each call by its id. A call without a decision fails the run."""
        return DeferredToolResults(approvals={call: self.result(request) for call, request in self.ids.items()})

    def result(self, request: str) -> ToolApproved | ToolDenied:
        try:
            # What runs is what people were shown or made of it, and not the text that the model wrote.
            return ToolApproved(override_args=approved(self.settled, request))
        except NotAllowed as refusal:
            return ToolDenied(f"Not allowed: {refusal.resolution.get('reason') or refusal.resolution['outcome']}")

    async def wrap_tool_execute(self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: Any, args: Any, handler: Any) -> Any:
        """Runs a tool. An approved call redeems its grant first and keeps its result, in case the run is continued again."""
        if not ctx.tool_call_approved:
            return await handler(args)
        request, results = self.ids[call.tool_call_id], self.kept.setdefault("results", {})
        if request in results:
            return results[request]
        decision = approval_of(self.settled, request)
        assert decision is not None  # the tool has been approved by it
        try:
            await self.task.redeem_grant(decision["resolution"], approved(self.settled, request))
        except Exception as failure:
            if not is_kind(failure, "grant_redeemed"):
                raise
            return "This call was started before, and its result was lost: it may have run. It was not started again."
        result = await handler(args)
        async with self.saving:
            results[request] = to_jsonable_python(result)
            await self.task.save_checkpoint(self.kept)
        return result
