// Package runs is the domain of holdpoint: sessions, runs, the requests that runs wait for, and
// [Decide], the one pure function through which every change goes.
//
// It must not know SQL, HTTP, a clock or a source of randomness. Times are ms since the epoch
// and are passed in. An [IDSource] generates ids. Rows come in as a [State] and go out as a
// [Change]. A storage engine below package store loads the State and writes the Change, under
// the session's lock.
//
// The files form layers, and each uses only its own layer and those below. A test in
// test/archtest checks this. From the bottom up:
//
//   - ids, texts, and checks that need no row: ids.go, suspension.go, answer_check.go, …
//   - the rows of a decision, and the store's interfaces: state.go, needs.go,
//     working_copy.go, store.go, …
//   - operations on the working copy, independent of the command: settle.go, lease.go, raise.go,
//     resolve.go, …
//   - the commands, one topic per file, none of which knows another: create.go, claim.go,
//     suspend.go, approve.go, …
//   - code that issues commands or reads before they are decided: ask.go, carry_out.go,
//     check_values.go.
//
// Names are the same in SQL columns, JSON members and Go fields.
package runs
