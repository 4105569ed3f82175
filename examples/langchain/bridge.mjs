// Agents of LangChain.js whose tool calls wait in holdpoint. While people decide there is no process:
// what the agent's checkpointer has is the checkpoint of the run, and whichever worker claims the run
// afterwards goes on with it.
import { Command, MemorySaver, interrupt } from "@langchain/langgraph";
import { ToolMessage, createMiddleware } from "langchain";

/**
 * Returns a middleware that asks about each call of these tools. LangChain's humanInTheLoopMiddleware takes one answer
 * to all calls of a turn: when one is denied, it drops the calls that were allowed, and tells the model nothing of them.
 */
export function askFirst(...tools) {
  return createMiddleware({
    name: "AskFirst",
    wrapToolCall: (request, handler) => {
      const { toolCall } = request;
      if (!tools.includes(toolCall.name)) return handler(request);
      const answer = interrupt({ tool_call_id: toolCall.id, tool_name: toolCall.name, input: toolCall.args });
      if (answer.allowed) return handler({ ...request, toolCall: { ...toolCall, args: answer.input } });
      return new ToolMessage({ content: `Not allowed: ${answer.reason}`, name: toolCall.name, tool_call_id: toolCall.id, status: "error" });
    },
  });
}

/** Returns the handler of a worker. makeAgent makes the agent with the checkpointer it is given. */
export function approvedBy(makeAgent) {
  return async (task) => {
    const saver = new MemorySaver();
    let { turn = 0, asked = [], ...kept } = task.checkpoint ?? {};
    if (task.checkpoint !== undefined) restore(saver, kept);
    const agent = makeAgent(saver);
    const thread = { configurable: { thread_id: task.runId } };
    let next = turn === 0 ? { messages: task.input } : answers(asked, task.resume);
    for (;;) {
      const state = await agent.invoke(next, thread);
      const waiting = state.__interrupt__ ?? [];
      if (waiting.length === 0) return state.messages.at(-1).content;
      // Some providers count the calls of each turn from zero, so the ids of calls do not tell the requests of a run apart.
      turn += 1;
      asked = waiting.map((one, number) => ({ interrupt: one.id, id: `call-${turn}-${number}` }));
      const approvals = waiting.map(({ value }, number) => ({ id: asked[number].id, ...value }));
      // It throws, and the handler begins again with the checkpoint once everything is settled,
      // unless standing rules settle it at once.
      next = answers(asked, await task.suspend({ checkpoint: { turn, asked, ...snapshot(saver) }, approvals }));
    }
  };
}

/** Returns an answer to each interrupt by its id. What is not known to be allowed is denied. */
function answers(asked, settled) {
  const decisions = new Map(settled?.approvals.map((one) => [one.request.id, one]));
  return new Command({ resume: Object.fromEntries(asked.map(({ interrupt: name, id }) => [name, answerOf(decisions.get(id))])) });
}

function answerOf(decision) {
  const { behavior, outcome, reason, updated_input: edited } = decision?.resolution ?? {};
  if (behavior !== "allow") return { allowed: false, reason: reason || outcome || "nobody decided" };
  return { allowed: true, input: edited === undefined ? decision.request.input : edited };
}

/** What the checkpointer has, as JSON. Its documents are bytes. */
function snapshot({ storage, writes }) {
  return JSON.parse(JSON.stringify({ storage, writes }, (_, value) => (value instanceof Uint8Array ? { base64: Buffer.from(value).toString("base64") } : value)));
}

function restore(saver, checkpoint) {
  const bytes = (_, value) => (typeof value?.base64 === "string" ? Uint8Array.from(Buffer.from(value.base64, "base64")) : value);
  Object.assign(saver, JSON.parse(JSON.stringify(checkpoint), bytes));
}
