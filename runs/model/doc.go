// Package model holds the rows of the domain (sessions, runs, requests, events, effects,
// messages, idempotency records) and makes the views of the wire from them.
//
// It must not know commands: a row changes only in package runs, through Decide.
package model
