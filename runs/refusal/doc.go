// Package refusal is the error type of the domain: a stable code, the members at fault, and the
// decision that was recorded instead. It also has the checks that every document shares: ids,
// texts, idempotency keys, lease lengths.
//
// It must not know any row or command, so that the packages below runs can use it.
package refusal
