// Agents of the Vercel AI SDK whose tool approvals wait in holdpoint. While people decide there is
// no process: the messages are the checkpoint of the run, and whichever worker claims the run
// afterwards goes on with them.
import { encodeJSON } from "@holdpoint/sdk";

/**
 * Returns the handler of a worker. generate calls generateText with the messages; it gets edited,
 * with which an execute of its tools takes the input that a person made of a call:
 * execute: (input, options) => deploy(edited(input, options)). The options are those that execute was given: a
 * later step may have another call with the same id, which must not get the edit.
 */
export function approvedBy(generate) {
  return async (task) => {
    const edits = new Map(), given = new WeakMap(); // edits by the id of a call, and then by its options
    // They were JavaScript's numbers, and the SDK's JSON has no bigint.
    let messages = task.checkpoint === undefined ? [{ role: "user", content: task.input }] : JSON.parse(encodeJSON(task.checkpoint));
    let settled = task.resume;
    for (;;) {
      const responses = decide(messages, settled, edits);
      if (responses.length > 0) messages = [...messages, { role: "tool", content: responses }];
      const result = await generate(messages, (input, options) => {
        if (!given.has(options) && edits.has(options.toolCallId)) {
          given.set(options, edits.get(options.toolCallId));
          edits.delete(options.toolCallId);
        }
        return given.has(options) ? given.get(options) : input;
      });
      messages = [...messages, ...result.responseMessages];
      const waiting = result.content.filter((part) => part.type === "tool-approval-request" && !part.isAutomatic);
      if (waiting.length === 0) return result.text;
      // It throws, and the handler begins again with the checkpoint once everything is settled,
      // unless standing rules settle it at once.
      settled = await task.suspend({ checkpoint: messages, approvals: waiting.map(approval) });
    }
  };
}

/**
 * What a person is asked about one call. The id is the approval's: some providers count the calls of each
 * turn from zero, and a decision about an earlier call must not count for a later one.
 */
function approval({ approvalId, toolCall, reason }) {
  const { toolCallId, toolName, input } = toolCall;
  return { id: approvalId, tool_call_id: toolCallId, tool_name: toolName, input, ...(reason ? { reason } : {}) };
}

/** Returns the responses to the requests that have none in the messages. What is not known to be allowed is denied. */
function decide(messages, settled, edits) {
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  const answered = new Set(parts.filter(({ type }) => type === "tool-approval-response").map(({ approvalId }) => approvalId));
  const open = parts.filter(({ type, approvalId }) => type === "tool-approval-request" && !answered.has(approvalId));
  const decisions = new Map(settled?.approvals.map(({ request, resolution }) => [request.id, resolution]));
  edits.clear(); // a later call may have the id of an edited one
  return open.map(({ approvalId, toolCallId }) => {
    const decision = decisions.get(approvalId);
    const approved = decision?.behavior === "allow";
    if (approved && decision.updated_input !== undefined) edits.set(toolCallId, decision.updated_input);
    const reason = decision?.reason ?? (approved ? undefined : decision?.outcome ?? "nobody decided");
    return { type: "tool-approval-response", approvalId, approved, ...(reason ? { reason } : {}) };
  });
}
