// Package refusal is the error type of the domain: a stable code, the invalid members, and the
// decision that was recorded instead. It also has the checks shared by all documents: ids,
// texts, idempotency keys, lease lengths.
//
// It must not know any row or command, so that the packages below runs can use it.
package refusal
