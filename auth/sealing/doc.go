// Package sealing encrypts answers and inputs that are marked sensitive, so that the database does
// not contain them in clear. Each value is encrypted (AES-256-GCM) under the data key of its run.
// The data key is stored encrypted under a key that the operator keeps apart from the database.
// Deleting a run's data key destroys the run's values: no one can read them again.
//
// It must not know rows, SQL or HTTP: it turns texts into texts.
package sealing
