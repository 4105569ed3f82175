// Package runs is the domain of holdpoint: sessions, runs, the requests that runs wait for, and
// [Decide], the one pure function through which every change goes.
//
// It must not know SQL, HTTP, a clock or a source of randomness. Times are ms since the epoch
// and are passed in; ids are made by an [IDSource]; rows come in as a [State] and go out as a
// [Change]. An engine below package store loads the State and writes the Change, under the lock
// of the session.
//
// The files stand in storeys, and each uses only its own storey and those below. A test in
// test/archtest holds this. From the ground up:
//
//   - ids, texts, and checks that need no row: ids.go, suspension.go, answer_check.go, …
//   - the rows of a decision, and the interfaces of a store: state.go, needs.go,
//     working_copy.go, store.go, …
//   - the moves on the working copy, which do not know the command that makes them: settle.go,
//     lease.go, raise.go, resolve.go, …
//   - the commands, one topic to a file, none of which knows another: create.go, claim.go,
//     suspend.go, approve.go, …
//   - what gives commands or prepares them with reads: ask.go, carry_out.go, check_values.go.
//
// Names are the same in SQL columns, JSON members and Go fields.
package runs
