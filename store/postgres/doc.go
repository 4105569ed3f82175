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
//
// Triggers give a session a new version whenever another program changes its rows: an older
// replica during an upgrade, or a person with psql. So a cached session is never trusted
// after such a change. Triggers also give rules new versions and record the last 1,000
// changes in rule_changes, with the version before each, so that a replica reloads only the
// rules that changed. A replica that is further behind reloads all rules.
//
// Commits are announced to other replicas by NOTIFY after the commit, never in the deciding
// transaction, where NOTIFY takes a lock over the whole database. Nothing is sent while no
// other replica listens, nor about a run that a worker at this replica is about to claim:
// others would only race for it.
package postgres
