// Package doctor checks every row of a database against the invariants of package runs and
// reports each that does not hold. No command that goes through [runs.Door] breaks one, so a
// finding means a fault in the program, lost or damaged data, or a manual change.
//
// The invariants are tables, one for each kind of row: see [Invariants]. The property tests of
// package runs check the same tables after every command.
//
// The package reads rows only: it must not know SQL or a clock, and changes nothing. Each
// check needs the rows of one session; an engine hands them over as a [model.Walker].
package doctor
