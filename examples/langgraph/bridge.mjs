// Graphs of LangGraph.js whose interrupts wait in holdpoint, in the shapes of Agent Inbox:
// interrupt([{ action_request, config, description }]) returns [{ type, args }]. While people decide
// there is no process: what the graph's checkpointer has is the checkpoint of the run, and whichever
// worker claims the run afterwards goes on with it.
import { Command, MemorySaver } from "@langchain/langgraph";

/**
 * Returns the handler of a worker. makeGraph compiles the graph with the checkpointer it is given;
 * the output of a run is the state in which the graph ends.
 */
export function approvedBy(makeGraph) {
  return async (task) => {
    const saver = new MemorySaver();
    // How often each id was interrupted: releases of LangGraph give all interrupts of a node one id.
    const { times = {}, ...kept } = task.checkpoint ?? {};
    const idOf = ({ id }) => (times[id] > 1 ? `${id}:${times[id]}` : id);
    if (task.checkpoint !== undefined) restore(saver, kept);
    const graph = makeGraph(saver);
    const thread = { configurable: { thread_id: task.runId } };
    // A checkpoint of an earlier bridge has no counts: its interrupts were asked about once.
    if (task.checkpoint !== undefined && !task.checkpoint.times) for (const { id } of await interrupts(graph, thread)) times[id] = 1;
    let settled = task.resume;
    let next = task.checkpoint === undefined ? task.input : await answers(graph, thread, idOf, settled);
    for (;;) {
      const state = await graph.invoke(next, thread);
      const waiting = await interrupts(graph, thread);
      if (waiting.length === 0) return state;
      for (const { id } of waiting) times[id] = (times[id] ?? 0) + 1; // all before were answered
      // It throws, and the handler begins again with the checkpoint once everything is settled,
      // unless standing rules settle it at once.
      settled = await task.suspend({ checkpoint: { ...snapshot(saver), times }, approvals: waiting.flatMap((one) => approvals(one, idOf(one))) });
      next = await answers(graph, thread, idOf, settled);
    }
  };
}

async function interrupts(graph, thread) {
  return (await graph.getState(thread)).tasks.flatMap((task) => task.interrupts);
}

/** The requests of an interrupt. Each is asked about: a graph may take its answer to the first for one to all. */
function requestsOf({ value }) {
  return Array.isArray(value) ? value : [value];
}

/** The id of an interrupt's request. */
const nth = (id, index) => (index === 0 ? id : `${id}.${index + 1}`);

/** What a person is asked about an interrupt. The ids keep several apart. */
function approvals(interrupt, id) {
  return requestsOf(interrupt).map(({ action_request: { action, args }, config, description }, index) => ({
    id: nth(id, index), tool_call_id: nth(id, index), tool_name: action, input: args, ...(description ? { description } : {}),
    // The service refuses an edit that the graph would ignore.
    ...(config?.allow_edit ? {} : { input_schema: false }),
  }));
}

/** Returns an answer to each interrupt by its id. What is not known to be allowed is ignored. */
async function answers(graph, thread, idOf, settled) {
  const decisions = new Map(settled?.approvals.map(({ request, resolution }) => [request.id, resolution]));
  const resume = {};
  for (const interrupt of await interrupts(graph, thread)) {
    const given = requestsOf(interrupt).map((request, index) => answerOf(request, decisions.get(nth(idOf(interrupt), index))));
    resume[interrupt.id] = Array.isArray(interrupt.value) ? given : given[0];
  }
  return new Command({ resume });
}

function answerOf({ action_request, config }, decision) {
  if (decision?.behavior === "allow") {
    if (decision.updated_input === undefined) return { type: "accept", args: null };
    // An edit that the graph does not take must not count as leave for the call as it was.
    if (config?.allow_edit) return { type: "edit", args: { ...action_request, args: decision.updated_input } };
  }
  if (decision?.reason && config?.allow_respond) return { type: "response", args: decision.reason };
  return { type: "ignore", args: null };
}

/** What the checkpointer has, as JSON. Its documents are bytes. */
function snapshot({ storage, writes }) {
  return JSON.parse(JSON.stringify({ storage, writes }, (_, value) => (value instanceof Uint8Array ? { base64: Buffer.from(value).toString("base64") } : value)));
}

function restore(saver, checkpoint) {
  const bytes = (_, value) => (typeof value?.base64 === "string" ? Uint8Array.from(Buffer.from(value.base64, "base64")) : value);
  Object.assign(saver, JSON.parse(JSON.stringify(checkpoint), bytes));
}
