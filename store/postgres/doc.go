// Package postgres is the engine for production: any number of replicas on one
// PostgreSQL 15 or newer.
//
// It loads what a batch of commands needs, writes what they decided, and answers
// reads. It decides nothing: package runs does, and package committer calls it
// between the two round trips that a batch takes. All rows that a command may
// change belong to one session, whose row is locked first; a transaction locks the
// sessions of its batch in the order of their ids, and each later statement of
// READ COMMITTED sees what the lock waited for.
//
// Every SQL text is a constant whose name begins with sql, or is put together of
// constant pieces by the functions in list.go; values are always parameters. A test
// prepares each of them against the migrated schema.
package postgres
