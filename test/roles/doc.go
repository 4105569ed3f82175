// Package roles tests that no credential does what its role and its bounds forbid: it makes many
// random calls to the API and to the faces, and holds what came of them against a second table,
// which is written from what the roles are for and knows nothing of package auth's.
//
// Its test has the tag "faults": "make faults" runs it in a bounded form, and "make roles" with a
// million calls.
package roles
