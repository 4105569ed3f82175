package sqlite

import "github.com/holdpoint/holdpoint/runs/upkeep"

// Intake returns nil: only Postgres takes runs from the transactions of other programs.
func (s *Store) Intake() upkeep.Intake { return nil }
