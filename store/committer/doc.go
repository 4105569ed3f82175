// Package committer is the group commit that the engines share: while one batch
// of commands is in flight the next one gathers, and each batch is one
// transaction. It decides nothing (runs.Decide does) and knows no SQL (the Engine
// does).
package committer
