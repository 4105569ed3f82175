// Command churn makes runs, carries each through a whole wait and deletes it again by the
// retention, and prints how large the database is meanwhile: what a service that has been up for
// a day looks like.
//
//	go run ./bench/churn --database postgres://… --runs 1000000 --keep 60s
//	go run ./bench/churn --database sqlite:churn.db --runs 1000000 --keep 60s --every 30s
//	go run ./bench/churn --database sqlite:churn.db --runs 100000 --keep 0     # nothing is deleted
//
// A row is printed every so often: runs a second since the last one, how many runs, events and
// requests there are, the size of the database, and of each table of Postgres that changes the
// heap, the indexes and the dead rows. The database must be empty. The engine and the retention
// work in this process.
package main
