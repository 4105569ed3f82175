// Package refusal is how the domain says no: an error with a stable code, the members at
// fault, and what was recorded instead. It also holds the checks of simple members that
// every document shares: identifiers, texts, keys and lengths of leases.
//
// It must not know any row or command.
package refusal
