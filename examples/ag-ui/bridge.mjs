// Agents that speak AG-UI, whose interrupts wait in holdpoint. A run of AG-UI ends with its
// interrupts, and another run brings the answers; between them there is no process: the messages
// and the state of the thread are the checkpoint, and whichever worker claims the run afterwards
// starts the next run of the agent.
import { buildResumeArray } from "@ag-ui/client";
import { decodeJSON, encodeJSON } from "@holdpoint/sdk";

/**
 * Returns the handler of a worker. makeAgent makes the agent of a thread from its threadId,
 * initialMessages and initialState, such as (thread) => new HttpAgent({ url, ...thread }). The
 * output of the run is the result of the agent's last run.
 */
export function answeredBy(makeAgent) {
  return async (task) => {
    const begin = { messages: [{ id: "input", role: "user", content: task.input }], state: {}, interrupts: [] };
    // They were JavaScript's numbers, and the agent's JSON has no bigint.
    const { messages, state, interrupts } = task.checkpoint === undefined ? begin : JSON.parse(encodeJSON(task.checkpoint));
    const agent = makeAgent({ threadId: task.runId, initialMessages: messages, initialState: state });
    let open = interrupts;
    let settled = task.resume;
    for (;;) {
      const { result } = await agent.runAgent(open.length > 0 ? { resume: answers(open, settled) } : {});
      open = agent.pendingInterrupts;
      if (open.length === 0) return result;
      // It throws, and the handler begins again with the checkpoint once everything is settled,
      // unless standing rules settle it at once.
      settled = await task.suspend({
        checkpoint: { messages: agent.messages, state: agent.state, interrupts: open },
        approvals: open.filter(isApproval).map((interrupt) => approval(interrupt, agent.messages)),
        questions: open.filter((interrupt) => !isApproval(interrupt)).map(question),
      });
    }
  };
}

const isApproval = ({ toolCallId }) => toolCallId !== undefined;

const takesEdits = ({ responseSchema }) => responseSchema?.properties?.editedArgs !== undefined;

/** What a person is asked about one call. The id of the interrupt keeps several apart. */
function approval(interrupt, messages) {
  const { name, arguments: text } = messages.flatMap(({ toolCalls }) => toolCalls ?? []).find(({ id }) => id === interrupt.toolCallId).function;
  const input = decodeJSON(text || "{}"); // with the digits that the agent runs
  return {
    id: interrupt.id, tool_call_id: interrupt.toolCallId, tool_name: name, input, ...(interrupt.message ? { reason: interrupt.message } : {}), ...deadline(interrupt),
    // An edit that the agent does not take must not count as leave for the call as it was.
    ...(takesEdits(interrupt) ? {} : { input_schema: false }),
  };
}

/** What a person is asked for otherwise: a value of the schema that the agent expects. */
function question(interrupt) {
  const { id, reason, message, responseSchema } = interrupt;
  const due = deadline(interrupt);
  return {
    id, tool_call_id: id, kind: reason, response_schema: responseSchema ?? true, ...(message ? { payload: { message } } : {}), ...due,
    // A question that expires cancels its run otherwise.
    ...("expires_at_ms" in due ? { escalation: { at_deadline: "decline" } } : {}),
  };
}

function deadline({ expiresAt }) {
  const expires = Date.parse(expiresAt);
  return Number.isNaN(expires) ? {} : { expires_at_ms: expires };
}

/** Returns an answer to each interrupt by its id. What nobody decided is cancelled. */
function answers(open, settled) {
  const decisions = new Map([...(settled?.approvals ?? []), ...(settled?.questions ?? [])].map(({ request, resolution }) => [request.id, resolution]));
  return buildResumeArray(open, Object.fromEntries(open.map((interrupt) => [interrupt.id, carried(interrupt, answer(interrupt, decisions.get(interrupt.id)))])));
}

/** Returns an answer that AG-UI can carry, whose JSON has no bigint. */
function carried({ id }, answer) {
  JSON.stringify(answer, (_, member) => {
    if (typeof member === "bigint") throw new RangeError(`interrupt ${JSON.stringify(id)}: the decision has the integer ${member}, which AG-UI cannot carry without rounding`);
    return member;
  });
  return answer;
}

function answer(interrupt, decision) {
  switch (decision?.outcome) {
    case "allowed":
      return { status: "resolved", payload: { approved: true, ...(decision.updated_input === undefined ? {} : { editedArgs: decision.updated_input }) } };
    case "denied":
      return { status: "resolved", payload: { approved: false, ...(decision.reason ? { reason: decision.reason } : {}) } };
    case "answered":
      return { status: "resolved", payload: decision.value };
    default:
      return { status: "cancelled" };
  }
}
