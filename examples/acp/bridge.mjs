// Agents that speak the Agent Client Protocol, whose session/request_permission waits in holdpoint.
// The worker is the agent's client, as an editor is. The agent runs meanwhile; when it and the worker
// die, another worker starts it again, loads its session, and the decisions that were recorded answer
// what it asks again.
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { Readable, Writable } from "node:stream";
import { PROTOCOL_VERSION, client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

/** Returns the handler of a worker. The command starts the agent; the output of a run is what it says last. */
export function permittedBy(command, args = [], { cwd = process.cwd(), env = process.env } = {}) {
  return async (task) => {
    const agent = spawn(command, args, { cwd, env, stdio: ["pipe", "pipe", "inherit"] });
    const stop = () => agent.kill("SIGKILL");
    task.signal.addEventListener("abort", stop);
    const ended = new Promise((_, reject) => {
      agent.once("error", reject);
      agent.once("exit", (code) => reject(new Error(`the agent exited with ${code}`)));
    });
    let giveUp;
    const undecided = new Promise((_, reject) => {
      giveUp = reject;
    });
    try {
      return await Promise.race([ended, undecided, turn(task, ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)), cwd, giveUp)]);
    } finally {
      task.signal.removeEventListener("abort", stop);
      stop();
    }
  };
}

/** Has the agent work until its turn ends. giveUp gets the error of a wait that ended without a decision. */
function turn(task, stream, cwd, giveUp) {
  let said = "";
  const asked = new Map(); // how often, by the id of the call
  const calls = new Map(); // as the agent has described them, by their ids
  const described = ({ sessionUpdate, ...update }) => {
    const given = Object.fromEntries(Object.entries(update).filter(([, member]) => member != null));
    calls.set(update.toolCallId, { ...calls.get(update.toolCallId), ...given });
    return calls.get(update.toolCallId);
  };
  return client({ name: "holdpoint" })
    .onRequest(methods.client.session.requestPermission, ({ params }) => permission(task, { ...params, toolCall: described(params.toolCall) }, asked, cwd).catch((failure) => {
      giveUp(failure); // first: the agent may take the error for a refusal, and end its turn as if the work were done
      throw failure;
    }))
    .onNotification(methods.client.session.update, ({ params: { update } }) => {
      if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text") said += update.content.text;
      if (update.sessionUpdate === "tool_call") calls.delete(update.toolCallId); // another call, whose id was used before
      if (update.sessionUpdate.startsWith("tool_call")) described(update);
    })
    .connectWith(stream, async (agent) => {
      const { agentCapabilities } = await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
      let sessionId = agentCapabilities?.loadSession ? task.checkpoint?.sessionId : undefined;
      let text = task.input;
      if (sessionId === undefined) {
        ({ sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] }));
        await task.saveCheckpoint({ sessionId });
      } else {
        await agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] });
        text = "You were interrupted. Go on where you were.";
      }
      said = ""; // what was loaded was said before
      const { stopReason } = await agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
      if (stopReason !== "end_turn") throw new Error(`the agent stopped: ${stopReason}`);
      return said;
    });
}

/**
 * Has people decide about one call. Its id keeps several apart, and is how a decision is found when
 * the agent asks again after a restart. Without one it is another call, whose id a provider has used
 * before. A person's "always" is a standing rule of the service, so the agent is only ever told about
 * this once.
 */
async function permission(task, { toolCall, options }, asked, cwd) {
  const { name, title, rawInput, content, locations } = toolCall;
  // Without a name an input without members says nothing, and an "always" would hold for every such call.
  const isEmpty = rawInput == null || (!name && typeof rawInput === "object" && Object.keys(rawInput).length === 0);
  if (isEmpty && !title) throw new Error(`the agent does not say what ${toolCall.toolCallId} does`);
  // Some agents say what they do in the content alone, such as the diff of an edit.
  const input = isEmpty ? { title, ...(content?.length && { content }), ...(locations?.length && { locations }) } : rawInput;
  if (isRounded(input)) throw new Error(`the input of ${toolCall.toolCallId} has an integer beyond 2^53, which the protocol's library may have rounded`);
  const times = (asked.get(toolCall.toolCallId) ?? 0) + 1;
  asked.set(toolCall.toolCallId, times);
  const id = times === 1 ? toolCall.toolCallId : `${toolCall.toolCallId}:${times}`;
  const decision = await task.approve({
    id, tool_call_id: toolCall.toolCallId, tool_name: name ?? toolCall.kind ?? "other", input,
    directory: resolve(cwd), // an "always" holds here alone: elsewhere the same command is another one
    ...(title ? { reason: title } : {}),
    // The protocol has no answer for an edited call, and an edit must not count as leave for the call as it was.
    input_schema: false,
  });
  const option = options.find(({ kind }) => kind === (decision.behavior === "allow" ? "allow_once" : "reject_once"));
  return { outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" } };
}

/** Whether an integer in an input may be another one than the agent's. */
function isRounded(input) {
  if (typeof input === "object" && input !== null) return Object.values(input).some(isRounded);
  return Number.isInteger(input) && !Number.isSafeInteger(input);
}
