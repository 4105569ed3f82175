// Package hermes serves the approval and clarification routes of the Hermes WebUI
// (docs/spec/hermes.md): two streams with a session's pending requests, two snapshots of the same
// data, and two calls that decide.
//
// Pending requests are read from the store, and a person's reply is a command to the door. The
// package's only state is shared by the streams of one session while it is followed. It must not
// know the storage or another dialect.
package hermes
