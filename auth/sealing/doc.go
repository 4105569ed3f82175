// Package sealing encrypts what must not be read in a database: answers and inputs that are marked
// sensitive. Each value is encrypted (AES-256-GCM) under the data key of its run, which is stored
// encrypted under a key that the operator keeps apart from the database. Without its data key a value
// cannot be read again by anybody, so a run's values are shredded by deleting that one text.
//
// It must not know rows, SQL or HTTP: it turns texts into texts.
package sealing
