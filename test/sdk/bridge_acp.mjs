// Holds the bridge of the Agent Client Protocol to what its page says, with tasks of its own. With the argument "agent" it is an agent that
// takes an error for a refusal.
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { PROTOCOL_VERSION, agent, methods, ndJsonStream } from "@agentclientprotocol/sdk";
import { permittedBy } from "./bridge.mjs";

if (process.argv[2] === "agent") {
  const toolCall = { toolCallId: "call-1", name: "pay", title: "To pay", rawInput: JSON.parse(process.argv[3]) };
  const updates = JSON.parse(process.argv[5]); // before each request, which then has the id alone
  const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
  agent({ name: "stub" })
    .onRequest(methods.agent.initialize, () => ({ protocolVersion: PROTOCOL_VERSION, agentCapabilities: {} }))
    .onRequest(methods.agent.session.new, () => ({ sessionId: "s" }))
    .onRequest(methods.agent.session.prompt, async ({ client }) => {
      for (let times = Number(process.argv[4]); times > 0; times--) {
        for (const update of updates ?? []) await client.notify(methods.client.session.update, { sessionId: "s", update: { toolCallId: "call-1", ...update } });
        await client.request(methods.client.session.requestPermission, { sessionId: "s", toolCall: updates ? { toolCallId: "call-1" } : toolCall, options }).catch(() => {});
      }
      return { stopReason: "end_turn" };
    })
    .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
} else {
  const handle = (rawInput, approve, times = 1, updates = null) =>
    permittedBy(process.execPath, [fileURLToPath(import.meta.url), "agent", rawInput, String(times), JSON.stringify(updates)])({ signal: new AbortController().signal, input: "go", saveCheckpoint: async () => {}, approve })
      .then(() => undefined, (error) => error);

  // A wait that ended without a decision ends the run's attempt with its error, although the agent ends its turn.
  const stopped = new Error("the worker stops");
  const undecided = await handle('{"amount":1}', async () => {
    throw stopped;
  });
  if (undecided !== stopped) throw new Error(`${undecided} and not ${stopped}`);

  // A person does not decide about another number than the agent's.
  let asked = 0;
  const approve = async () => {
    asked++;
    return { behavior: "allow" };
  };
  for (const rawInput of ["9007199254740993", '{"account":9007199254740993}', '{"in":[{"account":-9007199254740993}]}']) {
    const refused = await handle(rawInput, approve);
    if (!/rounded/.test(refused?.message)) throw new Error(`${rawInput}: ${refused}`);
  }
  if (asked !== 0) throw new Error("a person was asked about a rounded number");
  const refused = await handle('{"account":9007199254740991,"share":0.5,"nothing":null}', approve);
  if (refused !== undefined || asked !== 1) throw refused;

  // A call with the id of an earlier one is a request of its own.
  const requests = [];
  const failed = await handle('{"amount":1}', async (request) => {
    requests.push(request);
    return { behavior: "allow" };
  }, 2);
  if (failed !== undefined) throw failed;
  if (String(requests.map(({ id }) => id)) !== "call-1,call-1:2") throw new Error(`${requests.map(({ id }) => id)}`);
  if (requests.some(({ tool_call_id }) => tool_call_id !== "call-1")) throw new Error(`${requests.map(({ tool_call_id }) => tool_call_id)}`);

  // What the agent has said about a call before is what a person is asked.
  const described = [
    { sessionUpdate: "tool_call", title: "To pay", kind: "execute", rawInput: { amount: 1 } },
    { sessionUpdate: "tool_call_update", title: null, rawInput: { amount: 2 } },
  ];
  const withoutInput = { sessionUpdate: "tool_call", title: "To pay", kind: "execute", rawInput: {} };
  const edit = { content: [{ type: "diff", path: "/a", oldText: "1", newText: "2" }], locations: [{ path: "/a" }] };
  for (const [updates, input] of [[described, { amount: 2 }], [[withoutInput], { title: "To pay" }], [[{ ...withoutInput, ...edit }], { title: "To pay", ...edit }], [[{ ...withoutInput, content: [], locations: [] }], { title: "To pay" }], [[...described, { sessionUpdate: "tool_call", title: "To pay", kind: "execute" }], { title: "To pay" }]]) {
    const shown = [];
    const failure = await handle("1", async (request) => {
      shown.push(request);
      return { behavior: "allow" };
    }, 1, updates);
    if (failure !== undefined) throw failure;
    const [{ tool_name, reason, input: given, input_schema, directory }] = shown; // an "always" holds in the directory alone
    if (!isDeepStrictEqual([tool_name, reason, given, input_schema, directory], ["execute", "To pay", input, false, process.cwd()])) throw new Error(JSON.stringify(shown));
  }

  // A person does not decide about a call that they are not shown.
  asked = 0;
  for (const updates of [[], [{ sessionUpdate: "tool_call", title: "", kind: "edit", rawInput: {} }], [{ sessionUpdate: "tool_call", title: "", name: "pay" }]]) {
    const unsaid = await handle("1", approve, 1, updates);
    if (!/does not say what call-1 does/.test(unsaid?.message) || asked !== 0) throw new Error(`${unsaid}, and ${asked} were asked`);
  }
  const named = await handle("1", approve, 1, [{ sessionUpdate: "tool_call", title: "", name: "list_accounts", rawInput: {} }]);
  if (named !== undefined || asked !== 1) throw new Error(`${named}, and ${asked} were asked about a call without arguments`);
}
