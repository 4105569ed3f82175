package sqlite

import "github.com/holdpoint/holdpoint/runs"

// Intake returns nil: only Postgres takes runs from the transactions of other programs.
func (s *Store) Intake() runs.Intake { return nil }
