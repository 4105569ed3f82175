// Package model has the rows of the domain (sessions, runs, requests, events, effects, messages,
// idempotency records) and the API views built from them. Field names match the SQL columns.
// Times are ms since the epoch; 0 means not yet.
//
// It must not know commands: rows change only in package runs, through Decide.
package model
