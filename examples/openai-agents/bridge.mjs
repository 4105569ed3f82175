// Agents of the OpenAI Agents SDK whose approvals wait in holdpoint. While people decide there is
// no process: the state of the agent is the checkpoint of the run, and whichever worker claims the
// run afterwards goes on with it.
import { RunState, run } from "@openai/agents";

/**
 * Returns the handler of a worker. makeAgent makes the agent for one run; it gets edited, with which
 * an execute of its tools takes the input that a person made of a call:
 * execute: (input, context, details) => deploy(edited(input, details)).
 */
export function approvedBy(makeAgent) {
  return async (task) => {
    const edits = new Map();
    const agent = makeAgent((input, { toolCall }) => (edits.has(toolCall.callId) ? edits.get(toolCall.callId) : input));
    let state = task.checkpoint === undefined ? undefined : await RunState.fromString(agent, task.checkpoint);
    let settled = task.resume;
    for (;;) {
      if (state) decide(state, settled, edits);
      const result = await run(agent, state ?? task.input);
      if (result.interruptions.length === 0) return result.finalOutput;
      state = result.state;
      // It throws, and the handler begins again with the checkpoint once everything is settled,
      // unless standing rules settle it at once.
      settled = await task.suspend({ checkpoint: state.toString(), approvals: result.interruptions.map(approval) });
    }
  };
}

/** What a person is asked about one call. The id of the call keeps several apart. */
function approval({ name, rawItem }) {
  return { id: rawItem.callId, tool_call_id: rawItem.callId, tool_name: name, input: JSON.parse(rawItem.arguments) };
}

/** Tells the state what was decided about each call that it waits for. What is not known to be allowed is rejected. */
function decide(state, settled, edits) {
  const decisions = new Map(settled?.approvals.map(({ request, resolution }) => [request.tool_call_id, resolution]));
  for (const item of state.getInterruptions()) {
    const decision = decisions.get(item.rawItem.callId);
    if (decision?.behavior !== "allow") {
      state.reject(item, { message: `Not allowed: ${decision?.reason ?? decision?.outcome ?? "nobody decided"}` });
      continue;
    }
    if (decision.updated_input !== undefined) edits.set(item.rawItem.callId, decision.updated_input);
    state.approve(item);
  }
}
