//go:build unix

// Command waits measures whole waits for a person, side by side and by turns: several
// versions of "holdpoint serve" over HTTP, the engine in process, and peers that can
// carry the same wait.
//
//	go run ./bench/waits                                    # this tree, on Postgres
//	go run ./bench/waits --database sqlite
//	go run ./bench/waits --binary old=/path --binary new=/path --peer plsql --peer river --peer dbos
//	go run ./bench/waits --engine --clients 1,64 --rounds 5 --for 20s --json result.json
//
// A wait is: one call makes a run, claims and suspends it; another approves it; a
// worker that waits with a long-poll is handed the run and completes it. In each round
// every subject takes its turn on a fresh database, so that what changes on the machine
// meanwhile changes for all. What is printed are the medians of the rounds, and ratios
// to the first subject of the same round.
//
// The load is a process of its own, and so is each peer with its load. CPU times come
// from /proc, so that they are missing elsewhere than on Linux.
//
// It starts a Postgres of its own with default settings, fsync on, from the binaries
// of this machine; --postgres names another server.
package main
