package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/holdpoint/holdpoint/migrations"
)

type migrateCommands struct {
	Up     migrateUp     `cmd:"" help:"Apply every step that is pending."`
	Down   migrateDown   `cmd:"" help:"Take back the newest step, with all data that only it holds."`
	Status migrateStatus `cmd:"" help:"Show the steps and which are applied."`
}

func (f databaseFlag) migrator(ctx context.Context, do func(*migrations.Migrator) error) error {
	parsed, err := parseDatabase(f.Database)
	if err != nil {
		return err
	}
	return parsed.migrator(ctx, do)
}

type migrateUp struct{ databaseFlag }

// Run applies what is pending. On Postgres several may do so at once.
func (c *migrateUp) Run(ctx context.Context, console *console) error {
	return c.migrator(ctx, func(m *migrations.Migrator) error {
		steps, err := m.Up(ctx)
		if err != nil {
			return err
		}
		for _, step := range steps {
			fmt.Fprintf(console.stdout, "applied %d %s\n", step.Version, step.Name)
		}
		if len(steps) == 0 {
			fmt.Fprintln(console.stdout, "nothing is pending")
		}
		return nil
	})
}

type migrateDown struct{ databaseFlag }

// Run takes back one step.
func (c *migrateDown) Run(ctx context.Context, console *console) error {
	return c.migrator(ctx, func(m *migrations.Migrator) error {
		step, err := m.Down(ctx)
		if err != nil {
			return err
		}
		if step.Version == 0 {
			fmt.Fprintln(console.stdout, "nothing is applied")
			return nil
		}
		fmt.Fprintf(console.stdout, "took back %d %s\n", step.Version, step.Name)
		return nil
	})
}

type migrateStatus struct {
	databaseFlag
	format
}

// stepView is a step of the schema as JSON.
type stepView struct {
	Version     int64  `json:"version"`
	Name        string `json:"name"`
	Applied     bool   `json:"applied"`
	AppliedAtMs int64  `json:"applied_at_ms,omitzero"`
}

// Run prints every step that this program knows.
func (c *migrateStatus) Run(ctx context.Context, console *console) error {
	return c.migrator(ctx, func(m *migrations.Migrator) error {
		steps, err := m.Status(ctx)
		if err != nil {
			return err
		}
		views := make([]stepView, len(steps))
		rows := make([][]string, len(steps))
		for i, step := range steps {
			views[i] = stepView{Version: step.Version, Name: step.Name, Applied: !step.AppliedAt.IsZero()}
			state := "pending"
			if views[i].Applied {
				views[i].AppliedAtMs = step.AppliedAt.UnixMilli()
				state = "applied " + step.AppliedAt.UTC().Format(time.RFC3339)
			}
			rows[i] = []string{strconv.FormatInt(step.Version, 10), step.Name, state}
		}
		if c.JSON {
			return printJSON(console.stdout, views)
		}
		return table(console.stdout, []string{"VERSION", "NAME", "STATE"}, rows)
	})
}
