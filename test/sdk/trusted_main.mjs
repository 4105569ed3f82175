// Runs trusted.mjs on Node and Deno. Without the tokens it tells what comes of a certificate of an
// authority that nobody knows.
import * as sdk from "@holdpoint/sdk";
import { useTokens } from "./trusted.mjs";

const [given] = process.argv.slice(2).map((text) => JSON.parse(text));
if (given.agentToken) console.log(JSON.stringify(await useTokens(sdk, given)));
else {
  const service = new sdk.Holdpoint({ baseUrl: given.baseUrl, retry: { maxAttempts: 1 } });
  console.log(await service.listRuns().then(() => "allowed", (error) => (sdk.isKind(error, "unavailable") ? "unavailable" : String(error))));
}
