package database

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/migrations"
	"github.com/holdpoint/holdpoint/store"
)

// Migrate is the command holdpoint migrate.
type Migrate struct {
	Up     migrateUp     `cmd:"" help:"Apply all pending migrations."`
	Down   migrateDown   `cmd:"" help:"Revert the newest migration and delete the data that only it can hold."`
	Status migrateStatus `cmd:"" help:"List the migrations and whether they are applied."`
}

// migrator runs do with the database's migrator.
func (f Flag) migrator(ctx context.Context, do func(*migrations.Migrator) error) error {
	return f.explain(store.Migrate(ctx, f.Database, do))
}

type migrateUp struct {
	Flag
	console.Format
}

// Run applies pending migrations. On Postgres, several processes may run it at once.
func (c *migrateUp) Run(ctx context.Context, terminal *console.Console) error {
	return c.migrator(ctx, func(m *migrations.Migrator) error {
		steps, err := m.Up(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			views := make([]stepView, len(steps))
			for i, step := range steps {
				views[i] = stepView{Version: step.Version, Name: step.Name, Applied: true}
			}
			return console.PrintJSON(terminal.Stdout, views)
		}
		for _, step := range steps {
			fmt.Fprintf(terminal.Stdout, "applied %d %s\n", step.Version, step.Name)
		}
		if len(steps) == 0 {
			fmt.Fprintln(terminal.Stdout, "nothing is pending")
		}
		return nil
	})
}

type migrateDown struct {
	Flag
	console.Format
	Yes   bool `help:"Do not ask for confirmation."`
	Force bool `help:"Revert even if services are connected; they will fail."`
}

// Run shows what will be lost, asks, and reverts one migration.
func (c *migrateDown) Run(ctx context.Context, terminal *console.Console) error {
	if err := store.CheckExists(c.Database); err != nil {
		return c.explain(err)
	}
	connected, err := store.Connected(ctx, c.Database)
	if err != nil {
		return c.explain(err)
	}
	if connected > 0 && !c.Force {
		return fmt.Errorf("services have %d connections to this database; stop them first, or use --force", connected)
	}
	return c.migrator(ctx, func(m *migrations.Migrator) error {
		newest, losses, err := m.Losses(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return c.printed(ctx, terminal, m, newest, losses)
		}
		if newest.Version == 0 {
			fmt.Fprintln(terminal.Stdout, "nothing is applied")
			return nil
		}
		fmt.Fprintf(terminal.Stdout, "This reverts migration %d (%s).\n", newest.Version, newest.Name)
		for _, loss := range losses {
			what := "table " + loss.Table
			if loss.Column != "" {
				what = "column " + loss.Column + " of " + loss.Table
			}
			fmt.Fprintf(terminal.Stdout, "It deletes the %s, with %d rows.\n", what, loss.Rows)
		}
		if len(losses) == 0 {
			fmt.Fprintln(terminal.Stdout, "It deletes no table and no column.")
		}
		if !c.Yes && !terminal.Confirmed("Continue?") {
			return console.Usage("nothing was reverted: answer yes, or use --yes")
		}
		step, err := m.Down(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(terminal.Stdout, "reverted %d %s\n", step.Version, step.Name)
		return nil
	})
}

// stepBack is a reverted migration as JSON.
type stepBack struct {
	Version int64  `json:"version,omitzero"`
	Name    string `json:"name,omitzero"`
	Lost    []lost `json:"lost"`
}

type lost struct {
	Table  string `json:"table"`
	Column string `json:"column,omitzero"`
	Rows   int64  `json:"rows"`
}

// printed reverts the migration and prints it as JSON. It cannot ask, so it requires --yes.
func (c *migrateDown) printed(ctx context.Context, terminal *console.Console, m *migrations.Migrator, newest migrations.Migration, losses []migrations.Loss) error {
	took := stepBack{Version: newest.Version, Name: newest.Name, Lost: []lost{}}
	for _, loss := range losses {
		took.Lost = append(took.Lost, lost{loss.Table, loss.Column, loss.Rows})
	}
	if newest.Version != 0 {
		if !c.Yes {
			return console.Usage("--json cannot ask: use --yes")
		}
		if _, err := m.Down(ctx); err != nil {
			return err
		}
	}
	return console.PrintJSON(terminal.Stdout, took)
}

type migrateStatus struct {
	Flag
	console.Format
}

// stepView is a migration as JSON.
type stepView struct {
	Version     int64  `json:"version"`
	Name        string `json:"name"`
	Applied     bool   `json:"applied"`
	AppliedAtMs int64  `json:"applied_at_ms,omitzero"`
}

// Run prints every migration that this program knows.
func (c *migrateStatus) Run(ctx context.Context, terminal *console.Console) error {
	steps, err := store.SchemaStatus(ctx, c.Database)
	if err != nil {
		return c.explain(err)
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
		return console.PrintJSON(terminal.Stdout, views)
	}
	return terminal.Table([]string{"VERSION", "NAME", "STATE"}, rows)
}
