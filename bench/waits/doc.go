//go:build unix

// Command waits compares complete waits for a person between several versions of "holdpoint
// serve" over HTTP, the engine in process, and peers that can carry the same wait.
//
//	go run ./bench/waits                                    # this tree, on Postgres
//	go run ./bench/waits --database sqlite
//	go run ./bench/waits --binary old=/path --binary new=/path --peer plsql --peer river --peer dbos
//	go run ./bench/waits --engine --clients 1,64 --rounds 5 --for 20s --json result.json
//
// A wait is: one call creates a run, claims and suspends it; another approves it; a worker
// in a long poll gets the run and completes it. In each round every subject runs once on a
// fresh database, so that changes of the machine affect all of them. The output has the
// medians of the rounds, and ratios to the first subject of the same round.
//
// The load runs in its own process, and so does each peer with its load. CPU times are from
// /proc and are only available on Linux.
//
// It starts a temporary Postgres with default settings and fsync on, from the binaries of
// this machine; --postgres names another server.
package main
