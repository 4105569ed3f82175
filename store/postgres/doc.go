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
// Every statement stands whole in the files statements*.go, but for column lists, which
// come from package columns, bulk writes (write.go) and lists (package read); values are
// always parameters. A test prepares each of them against the migrated schema and looks
// at the plans of those that are asked often.
package postgres
