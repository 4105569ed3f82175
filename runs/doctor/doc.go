// Package doctor checks that the rows of a database keep the invariants of package
// runs, and names each one that is broken: what the one door never writes, and what
// therefore tells of a fault in an engine, in the database or of another writer.
//
// It knows rows and nothing else: no SQL, no clock, no way to change anything. Each
// check is about the rows of one session; an engine hands them over as a
// [runs.Walker].
package doctor
