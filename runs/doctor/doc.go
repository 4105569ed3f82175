// Package doctor checks every row of a database against the invariants of package runs and
// reports each broken one. No command that goes through [runs.Door] breaks one, so a finding
// means a bug, lost or damaged data, or a manual change.
//
// The invariants are tables, one for each kind of row: see [Invariants]. The property tests of
// package runs check the same tables after every command.
//
// The package is read-only and must not know SQL or a clock. Each check needs the rows of one
// session; an engine provides them as a [model.Walker].
package doctor
