// The suite imports fs.globSync, which Node has from version 22 on; its server command never calls it.
import { register } from 'node:module';
const fs = `export * from 'node:fs'; export { default } from 'node:fs'; export const globSync = () => { throw new Error('globSync needs Node 22'); };`;
const hooks = `export async function resolve(specifier, context, next) {
  return specifier === 'fs' && context.parentURL?.includes('/conformance/') ? { url: ${JSON.stringify('data:text/javascript,' + encodeURIComponent(fs))}, shortCircuit: true } : next(specifier, context);
}`;
register('data:text/javascript,' + encodeURIComponent(hooks));
