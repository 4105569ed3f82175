// A stub of a coding agent that speaks the Agent Client Protocol: it deploys and mails, asks before
// each, and keeps its sessions in files.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { Readable, Writable } from "node:stream";
import { PROTOCOL_VERSION, agent, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const calls = { "call-1": ["deploy", { to: "production" }], "call-2": ["mail", { to: "all" }] };
const options = [
  { optionId: "no", name: "No", kind: "reject_once" },
  { optionId: "ever", name: "Always", kind: "allow_always" },
  { optionId: "yes", name: "Yes", kind: "allow_once" },
];
const fileOf = (sessionId) => `session-${sessionId}.json`;

async function work(sessionId, people) {
  const results = JSON.parse(readFileSync(fileOf(sessionId), "utf8"));
  await Promise.all(Object.entries(calls).map(async ([toolCallId, [name, rawInput]]) => {
    if (results[toolCallId]) return;
    const { outcome } = await people.request(methods.client.session.requestPermission, { sessionId, toolCall: { toolCallId, name, title: `To ${name}`, rawInput }, options });
    const allowed = outcome.outcome === "selected" && outcome.optionId === "yes";
    if (allowed && process.env.RAN) appendFileSync(process.env.RAN, `${name} ${rawInput.to}\n`);
    results[toolCallId] = allowed ? `${name} to ${rawInput.to} is done` : "Not allowed";
    writeFileSync(fileOf(sessionId), JSON.stringify(results));
  }));
  return Object.keys(calls).map((id) => results[id]).join("; ");
}

agent({ name: "stub" })
  .onRequest(methods.agent.initialize, () => ({ protocolVersion: PROTOCOL_VERSION, agentCapabilities: { loadSession: true } }))
  .onRequest(methods.agent.session.new, () => {
    const sessionId = randomUUID();
    writeFileSync(fileOf(sessionId), "{}");
    return { sessionId };
  })
  .onRequest(methods.agent.session.load, ({ params: { sessionId } }) => {
    if (!existsSync(fileOf(sessionId))) throw new Error("there is no such session");
    return {};
  })
  .onRequest(methods.agent.session.prompt, async ({ params: { sessionId }, client }) => {
    const text = await work(sessionId, client);
    await client.notify(methods.client.session.update, { sessionId, update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } } });
    return { stopReason: "end_turn" };
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
