// Package oidc tells who somebody is by an OpenID Connect issuer: it signs browsers in by the
// authorization code flow, and reads the ID tokens that machines send.
//
// It must not know a database, or what a role may do: package auth keeps the identities.
package oidc
