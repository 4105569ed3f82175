// Package auth decides who may do what: principals, tokens and their secrets, roles, and the one
// table of actions and roles that every API enforces (docs/security.md).
//
// It must not import HTTP or database code, and knows no row except a token's: the engines store
// tokens for it, and httpapi/wire passes it the credential of a request.
package auth
