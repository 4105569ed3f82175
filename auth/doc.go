// Package auth says who may do what: principals, tokens and their secrets, roles, and the one
// table of routes and actions that every face is held to (docs/security.md).
//
// It must not know HTTP, a database, or any row but that of a token: the engines keep tokens
// for it, and httpapi/wire tells it which credential a request carries.
package auth
