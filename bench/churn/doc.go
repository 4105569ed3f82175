// Command churn creates runs, carries each through a complete wait and lets the retention
// delete it again. It prints the size of the database over time: the state of a service
// after a day of use.
//
//	go run ./bench/churn --database postgres://… --runs 1000000 --keep 60s
//	go run ./bench/churn --database sqlite:churn.db --runs 1000000 --keep 60s --every 30s
//	go run ./bench/churn --database sqlite:churn.db --runs 100000 --keep 0     # nothing is deleted
//
// Each row shows the runs per second since the previous row, the numbers of runs, events
// and requests, the size of the database, and for each changing Postgres table the heap,
// the indexes and the dead rows. The database must be empty. The engine and the retention
// run in this process.
package main
