"""Stands in for Pydantic AI on machines that reach no index of Python packages. It has the names that the example uses, and a turn in
which every call needs approval, as the framework's page on deferred tools describes them."""

import json
import sys
from dataclasses import dataclass, field
from typing import Any

for name in ("pydantic_ai.capabilities", "pydantic_ai.messages", "pydantic_ai.models", "pydantic_ai.models.function", "pydantic_core"):
    sys.modules[name] = sys.modules[__name__]

AgentInfo = RunContext = Any


@dataclass
class UserPromptPart:
    content: str


@dataclass
class TextPart:
    content: str


@dataclass
class ToolCallPart:
    tool_name: str
    args: Any
    tool_call_id: str

    def args_as_dict(self, *, raise_if_invalid: bool = False) -> dict[str, Any]:
        return json.loads(self.args) if isinstance(self.args, str) else self.args


@dataclass
class ToolReturnPart:
    tool_name: str
    content: Any
    tool_call_id: str


@dataclass
class ModelRequest:
    parts: list[Any]


@dataclass
class ModelResponse:
    parts: list[Any]


ModelMessage = ModelRequest | ModelResponse
KINDS = {kind.__name__: kind for kind in (UserPromptPart, TextPart, ToolCallPart, ToolReturnPart, ModelRequest, ModelResponse)}


class ModelMessagesTypeAdapter:
    @staticmethod
    def dump_json(messages: list[ModelMessage]) -> bytes:
        return json.dumps(messages, default=lambda one: {"kind": type(one).__name__, **vars(one)}).encode()

    @staticmethod
    def validate_json(text: str) -> list[ModelMessage]:
        return json.loads(text, object_hook=lambda one: KINDS[one.pop("kind")](**one) if one.get("kind") in KINDS else one)


def to_jsonable_python(value: Any) -> Any:
    return json.loads(json.dumps(value))


@dataclass
class DeferredToolRequests:
    approvals: list[ToolCallPart]
    calls: list[ToolCallPart] = field(default_factory=list)


@dataclass
class ToolApproved:
    override_args: dict[str, Any] | None = None


@dataclass
class ToolDenied:
    message: str


@dataclass
class DeferredToolResults:
    approvals: dict[str, ToolApproved | ToolDenied]


class AbstractCapability:
    def __class_getitem__(cls, _: Any) -> Any:
        return cls


class FunctionModel:
    def __init__(self, function: Any) -> None:
        self.function = function


@dataclass
class Result:
    output: Any
    messages: list[ModelMessage]

    def all_messages(self) -> list[ModelMessage]:
        return self.messages


@dataclass
class Context:
    tool_call_approved: bool = True


class Agent:
    def __class_getitem__(cls, _: Any) -> Any:
        return cls

    def __init__(self, model: FunctionModel, output_type: Any) -> None:
        assert DeferredToolRequests in output_type
        self.model, self.tools = model, {}

    def tool_plain(self, *, requires_approval: bool) -> Any:
        assert requires_approval
        return lambda tool: self.tools.setdefault(tool.__name__, tool)

    async def run(self, prompt: str | None = None, *, message_history: Any = (), deferred_tool_results: Any = None, capabilities: Any = (), deps: Any = None) -> Result:
        messages = [*message_history] if prompt is None else [*message_history, ModelRequest([UserPromptPart(prompt)])]
        if deferred_tool_results is not None:
            messages.append(ModelRequest([await self.returned(call, deferred_tool_results, *capabilities) for call in messages[-1].parts]))
        messages.append(self.model.function(messages, None))
        calls = [part for part in messages[-1].parts if isinstance(part, ToolCallPart)]
        return Result(DeferredToolRequests(calls) if calls else messages[-1].parts[0].content, messages)

    async def returned(self, call: ToolCallPart, results: DeferredToolResults, capability: Any) -> ToolReturnPart:
        async def handler(args: dict[str, Any]) -> Any:
            return self.tools[call.tool_name](**args)

        decision = results.approvals[call.tool_call_id]
        if isinstance(decision, ToolDenied):
            content = decision.message
        else:
            args = decision.override_args if decision.override_args is not None else call.args_as_dict()
            content = await capability.wrap_tool_execute(Context(), call=call, tool_def=None, args=args, handler=handler)
        return ToolReturnPart(call.tool_name, content, call.tool_call_id)
