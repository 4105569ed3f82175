// Package door is the group commit shared by the database engines. While one batch of commands
// is in flight, the next one collects, and each batch is one transaction. Decisions are made by
// runs.Decide, and SQL is left to the Engine.
package door
