// Package postgres is the engine for production: any number of replicas on one PostgreSQL 15 or
// newer.
//
// It loads the needs of a batch of commands, writes the decisions, and answers reads. It decides
// nothing: package door calls package runs between the two round trips of a batch. All rows
// that a command may change belong to one session, whose row is locked first. A transaction locks
// the sessions of its batch in the order of their ids. In READ COMMITTED, each later statement sees
// the changes that the lock waited for.
//
// Every statement is complete in the files statements*.go, except for column lists (package
// columns), bulk writes (write.go) and lists (package read). Values are always parameters. A test
// prepares each statement against the migrated schema and checks the plans of the frequent ones.
//
// Triggers give a session a new version whenever another program changes its rows: an older replica
// during an upgrade, or a person with psql. So a cached session is never trusted after such a
// change. Triggers also give rules new versions and record the last 1,000 changes in rule_changes,
// with the version before each, so that a replica reloads only the rules that changed. A replica
// that is further behind reloads all rules.
//
// Commits are announced to other replicas by NOTIFY after the commit, never in the deciding
// transaction, where NOTIFY takes a lock over the whole database. Nothing is sent while no other
// replica listens. Runs that a worker at this replica is about to claim are not announced, because
// other workers would only race for them.
package postgres
