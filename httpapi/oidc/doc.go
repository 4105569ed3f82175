// Package oidc authenticates people and machines with an OpenID Connect issuer: it signs browsers
// in with the authorization code flow, and verifies the ID tokens of machines.
//
// It must not know a database or the permissions of a role: package auth stores the identities.
package oidc
