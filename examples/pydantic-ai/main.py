"""A worker whose agent deploys and mails, each after a person allowed it. Its model is a stub: put the name of a model in its place."""

import asyncio
import contextlib
import os
from pathlib import Path

from bridge import approved_by
from holdpoint import AsyncHoldpoint, AsyncWorker
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


def stub(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Calls both tools and then repeats what they returned."""
    results = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if not results:
        return ModelResponse(parts=[
            ToolCallPart("deploy", {"to": "production"}, tool_call_id="call-1"), ToolCallPart("mail", {"to": "all"}, tool_call_id="call-2"),
        ])
    return ModelResponse(parts=[TextPart("; ".join(str(part.content) for part in sorted(results, key=lambda part: part.tool_call_id)))])


agent = Agent(FunctionModel(stub), output_type=[str, DeferredToolRequests])


def done(tool: str, to: str) -> str:
    if path := os.environ.get("RAN"):
        with Path(path).open("a") as ran:
            ran.write(f"{tool} {to}\n")
    return f"{tool} to {to} is done"


@agent.tool_plain(requires_approval=True)
def deploy(to: str) -> str:
    """To deploy."""
    return done("deploy", to)


@agent.tool_plain(requires_approval=True)
def mail(to: str) -> str:
    """To mail."""
    return done("mail", to)


async def main() -> None:
    async with AsyncHoldpoint(os.environ.get("HOLDPOINT_SERVER", "http://127.0.0.1:4000"), token=os.environ.get("HOLDPOINT_TOKEN")) as service:
        await AsyncWorker(service, agent_ids=["releaser"]).run(approved_by(agent))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
