// Package hermes speaks the wire of the Hermes WebUI's approval and clarify routes
// (contracts/hermes.md, decisions.md 21): two ambient streams of a session that tell
// what waits for its user, two snapshots of the same, and two ways to answer.
//
// It is a translation. What is pending is read from the one core, and an answer is a
// command for the one door. It keeps nothing but what the streams of a session share
// while somebody follows them. It must not know how anything is stored, or any other
// dialect.
package hermes
