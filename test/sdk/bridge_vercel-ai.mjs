// Holds the bridge of the Vercel AI SDK to what its page says, with a task of its own.
import { decodeJSON, encodeJSON } from "@holdpoint/sdk";
import { approvedBy } from "./bridge.mjs";

// A checkpoint comes back as it was, with numbers that a provider can be sent.
const messages = [{ role: "user", content: "go" }, { role: "assistant", content: [{ type: "tool-call", toolCallId: "call-1", toolName: "pay", input: { order: 2 ** 53 } }] }];
const handler = approvedBy(async (given) => ({ text: JSON.stringify(given), responseMessages: [], content: [] }));
const sent = await handler({ checkpoint: decodeJSON(encodeJSON(messages)) });
if (sent !== JSON.stringify(messages)) throw new Error(`${sent} and not ${JSON.stringify(messages)}`);
