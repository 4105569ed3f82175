// Package faces is a client for each API ("face") of the service: it lists open prompts, decides,
// and returns the raw reply. Its tests cover what involves all faces: they show the same prompts,
// the first committed decision wins on all of them, and the others get the right reply. It knows
// only a service's address, so the service may run in another process.
package faces
