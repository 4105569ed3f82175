// Package hermes serves the approval and clarification routes of the Hermes WebUI
// (docs/spec/hermes.md): two streams of a session that show what waits for its user,
// two snapshots of the same, and two calls that decide about it.
//
// What is pending is read from the store, and a reply of a person is a command to the
// door. The package keeps nothing but what the streams of one session share while
// somebody follows them. It must not know how anything is stored, or another dialect.
package hermes
