package migrations

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Loss is a table or column that a rollback of a step deletes, with the number of its rows that
// have a value.
type Loss struct {
	Table, Column string
	Rows          int64
}

var (
	droppedTable  = regexp.MustCompile(`(?i)^DROP TABLE (?:IF EXISTS )?([a-z_]+)`)
	alteredTable  = regexp.MustCompile(`(?i)^ALTER TABLE (?:IF EXISTS )?(?:ONLY )?([a-z_]+)`)
	droppedColumn = regexp.MustCompile(`(?i)DROP COLUMN (?:IF EXISTS )?([a-z_]+)`)
	renamedTable  = regexp.MustCompile(`(?i)RENAME TO ([a-z_]+)$`)
	lineComment   = regexp.MustCompile(`(?m)--.*$`)
)

// Losses returns the newest applied step, with version 0 if there is none, and what its rollback
// would delete. It writes nothing.
func (m *Migrator) Losses(ctx context.Context) (step Migration, losses []Loss, err error) {
	current, _, err := m.Versions(ctx)
	if err != nil || current == 0 {
		return Migration{}, nil, err
	}
	steps := m.steps()
	at := slices.IndexFunc(steps, func(s Migration) bool { return s.Version == current })
	if at < 0 {
		return Migration{}, nil, fmt.Errorf("%w (it is at %d)", ErrSchemaAhead, current)
	}
	text, err := fs.ReadFile(m.sources, path.Base(steps[at].Name))
	if err != nil {
		return Migration{}, nil, fmt.Errorf("migrations: %w", err)
	}
	for _, loss := range lossesOf(string(text)) {
		// The names come from our own files.
		question := "SELECT count(*) FROM " + loss.Table
		if loss.Column != "" {
			// Texts that may not be NULL are empty without a value.
			question += " WHERE coalesce(CAST(" + loss.Column + " AS text), '') <> ''"
		}
		if err := m.db.QueryRowContext(ctx, question).Scan(&loss.Rows); err != nil {
			return Migration{}, nil, fmt.Errorf("count what is lost of %s: %w", loss.Table, err)
		}
		losses = append(losses, loss)
	}
	return steps[at], losses, nil
}

// lossesOf returns the tables and columns that the Down part of a step drops, except tables that
// the step itself created to copy another one.
func lossesOf(text string) (losses []Loss) {
	_, down, _ := strings.Cut(text, "-- +goose Down")
	made := map[string]bool{}
	for _, statement := range strings.Split(lineComment.ReplaceAllString(down, ""), ";") {
		s := strings.Join(strings.Fields(statement), " ")
		if renamed := renamedTable.FindStringSubmatch(s); renamed != nil {
			made[renamed[1]] = true
		}
		if table := droppedTable.FindStringSubmatch(s); table != nil && !made[table[1]] {
			losses = append(losses, Loss{Table: table[1]})
		}
		if table := alteredTable.FindStringSubmatch(s); table != nil {
			for _, column := range droppedColumn.FindAllStringSubmatch(s, -1) {
				losses = append(losses, Loss{Table: table[1], Column: column[1]})
			}
		}
	}
	return losses
}
