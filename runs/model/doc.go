// Package model has the rows of the domain (sessions, runs, requests, events, effects,
// messages, idempotency records) and the views of the wire that are made from them. Its field
// names are the names of the SQL columns. Times are ms since the epoch, and 0 means that it has
// not happened.
//
// It must not know commands: rows change only in package runs, through Decide.
package model
