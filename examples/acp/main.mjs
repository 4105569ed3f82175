// A worker that runs an agent of the Agent Client Protocol, each of whose calls a person allows. The
// agent is a stub: put the command of a coding agent in its place.
import { fileURLToPath } from "node:url";
import { Holdpoint, Worker } from "@holdpoint/sdk";
import { permittedBy } from "./bridge.mjs";

const service = new Holdpoint({ baseUrl: process.env.HOLDPOINT_SERVER ?? "http://127.0.0.1:4000", token: process.env.HOLDPOINT_TOKEN });
const handler = permittedBy(process.execPath, [fileURLToPath(new URL("agent.mjs", import.meta.url))]);
await new Worker(service, { agentIds: ["releaser"], onError: console.error }).run(handler);
