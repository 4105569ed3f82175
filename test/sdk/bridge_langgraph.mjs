// Holds the bridge of LangGraph.js to what its page says, with graphs and a task of its own.
import { Annotation, END, START, StateGraph, interrupt } from "@langchain/langgraph";
import { approvedBy } from "./bridge.mjs";

const same = (got, want) => {
  if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`${JSON.stringify(got)} and not ${JSON.stringify(want)}`);
};

/**
 * Handles a run until it ends, and returns its output and what was asked. decide returns the decision about the nth request; one that was
 * decided is not asked again. Each suspension ends the handler, or with a rule only the first does. An earlier bridge made the first one.
 */
async function ended(graph, decide, byRule = false, earlier = false) {
  const settled = new Map();
  const asked = [];
  const claim = { runId: "run-1", input: {} };
  for (;;) {
    const suspended = new Error("suspended");
    const suspend = async ({ checkpoint, approvals }) => {
      for (const request of approvals) {
        if (settled.has(request.id)) continue;
        asked.push(request);
        settled.set(request.id, { request, resolution: decide(asked.length) });
      }
      const resume = { approvals: approvals.map(({ id }) => settled.get(id)), questions: [] };
      if (byRule && claim.resume) return resume;
      if (earlier && !claim.resume) delete checkpoint.times;
      Object.assign(claim, { checkpoint: JSON.parse(JSON.stringify(checkpoint)), resume });
      throw suspended;
    };
    const output = await approvedBy(graph)({ ...claim, suspend }).catch((error) => {
      if (error !== suspended) throw error;
    });
    if (output !== undefined) return { output, asked };
  }
}

const config = { allow_accept: true, allow_edit: true, allow_respond: true, allow_ignore: true };
const deploy = { action_request: { action: "deploy", args: { to: "production" } }, config };
const decide = (nth) => ({ behavior: nth === 2 ? "deny" : "allow" });

// Equal calls of one node are requests of their own.
const State = Annotation.Root({ said: Annotation({ reducer: (said, more) => [...said, ...more], default: () => [] }) });
const thrice = (checkpointer) => new StateGraph(State)
  .addNode("deploy", () => ({ said: [1, 2, 3].map(() => interrupt([deploy])[0].type) }))
  .addEdge(START, "deploy").addEdge("deploy", END).compile({ checkpointer });
for (const byRule of [false, true]) {
  const { output, asked } = await ended(thrice, decide, byRule);
  same(output.said, ["accept", "ignore", "accept"]);
  same(new Set(asked.map(({ id }) => id)).size, 3);
}

// A person is asked about every request of an interrupt, and each gets its own answer.
const mail = { action_request: { action: "mail", args: { to: "all" } }, config };
const both = (checkpointer) => new StateGraph(State)
  .addNode("both", () => ({ said: interrupt([deploy, mail, deploy]).map(({ type }) => type) }))
  .addEdge(START, "both").addEdge("both", END).compile({ checkpointer });
for (const byRule of [false, true]) {
  const { output, asked } = await ended(both, decide, byRule);
  same(output.said, ["accept", "ignore", "accept"]);
  same(asked.map(({ tool_name }) => tool_name), ["deploy", "mail", "deploy"]);
  same(new Set(asked.map(({ id }) => id)).size, 3);
}

// So they are in a release of LangGraph that gives them one id, while a node next to it has another.
const oneID = (saver, waiting = deploy) => {
  const steps = [["node", "other"], ["node"], ["node"], []];
  const state = () => (saver.storage.said ??= []);
  return {
    invoke: async (next) => {
      if (next?.resume) state().push(Object.entries(next.resume).map(([id, [{ type }]]) => `${id} ${type}`).join());
      return state();
    },
    getState: async () => ({ tasks: steps[state().length].map((id) => ({ interrupts: [{ id, value: [waiting] }] })) }),
  };
};
for (const [byRule, earlier] of [[false, false], [true, false], [false, true], [true, true]]) {
  const { output, asked } = await ended(oneID, decide, byRule, earlier);
  same(output, ["node accept,other ignore", "node accept", "node accept"]);
  same(asked.map(({ id }) => id), ["node", "other", "node:2", "node:3"]);
}

// The service refuses an edit that the graph would ignore.
for (const [takes, schema] of [[config, undefined], [{ ...config, allow_edit: false }, false], [undefined, false]]) {
  const { output, asked } = await ended((saver) => oneID(saver, { ...deploy, config: takes }), () => ({ behavior: "allow", updated_input: { to: "staging" } }));
  same(asked.map(({ input_schema }) => input_schema), asked.map(() => schema));
  same(output.at(-1), takes?.allow_edit ? "node edit" : "node ignore");
}
