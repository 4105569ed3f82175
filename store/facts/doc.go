// Package facts caches what decisions are made from: the rows of sessions, callers' tokens, standing
// rules, webhooks, and the clock. It has no SQL and decides nothing.
//
// There is one rule of invalidation. A decision lists the facts that it used, with their versions, in
// a ReadSet, and the transaction that writes the decision compares them with the database. If one
// differs, nothing is written, Use.Stale drops it, and the command is decided again from a row that is
// loaded under its lock. So a cached fact is never assumed to be current, and no notice has to arrive.
// Webhooks are the exception: they are read again every second, and before a command if that was more
// than two seconds ago. While they cannot be read, the last ones stay in use.
package facts
