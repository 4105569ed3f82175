// Writes src/openapi.ts: the types of all documents, from the service's own openapi.json.
import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const [, , from = new URL("../../../openapi.json", import.meta.url), to = new URL("../src/openapi.ts", import.meta.url)] = process.argv;
const { openapi, info, components } = JSON.parse(readFileSync(from, "utf8"));
// The routes are what calls.ts and client.ts are; their types would be four fifths of the package. A member
// with a default may be left out of a request.
const documents = { openapi, info, paths: {}, components: { schemas: components.schemas } };
const types = astToString(await openapiTS(documents, { defaultNonNullable: false }));
writeFileSync(to, `// Generated from openapi.json by "npm run types"; do not edit.\n\n${types}`);
