package database

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/runs/upkeep"
	"github.com/holdpoint/holdpoint/store"
)

// Intake is the command holdpoint intake.
type Intake struct {
	List  intakeList  `cmd:"" help:"List runs of other programs' transactions that could not be created."`
	Retry intakeRetry `cmd:"" help:"Try to create such runs again."`
	Drop  intakeDrop  `cmd:"" help:"Delete such runs for good: they will not be created."`
}

// mostRefused bounds a list of refused runs.
const mostRefused = 1000

// refusedRun is a refused run as JSON.
type refusedRun struct {
	IntakeID    string `json:"intake_id"`
	RunID       string `json:"run_id"`
	SessionID   string `json:"session_id,omitempty"`
	CreatedAtMs int64  `json:"created_at_ms"`
	Attempts    int64  `json:"attempts"`
	LastError   string `json:"last_error"`
}

// withIntake calls use with the intake of a database; nil if the database takes no runs from other
// programs' transactions.
func (f Flag) withIntake(ctx context.Context, use func(upkeep.Intake) error) (err error) {
	opened, err := f.Open(ctx, store.Options{KeepSchema: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	return use(opened.Intake())
}

// refusedRuns returns the refused runs of a database after an id, at most mostRefused, the oldest first.
func refusedRuns(ctx context.Context, intake upkeep.Intake, after string) ([]refusedRun, error) {
	refused := []refusedRun{}
	if intake == nil {
		return refused, nil
	}
	rows, err := intake.Refused(ctx, after, mostRefused)
	for _, row := range rows {
		refused = append(refused, refusedRun{row.IntakeID, row.RunID, row.SessionID, row.CreatedAtMs, row.Attempts, row.LastError})
	}
	return refused, err
}

func printRefused(terminal *console.Console, asJSON bool, refused []refusedRun) error {
	if asJSON {
		return console.PrintJSON(terminal.Stdout, refused)
	}
	lines := [][]string{}
	for _, one := range refused {
		lines = append(lines, []string{one.IntakeID, one.RunID, one.SessionID, console.Ago(one.CreatedAtMs, terminal.Now()), strconv.FormatInt(one.Attempts, 10), console.Cut(one.LastError, 60)})
	}
	return terminal.Table([]string{"INTAKE", "RUN", "SESSION", "CREATED", "ATTEMPTS", "LAST ERROR"}, lines)
}

type intakeList struct {
	Flag
	console.Format
}

// Run prints the refused runs.
func (c *intakeList) Run(ctx context.Context, terminal *console.Console) error {
	return c.withIntake(ctx, func(intake upkeep.Intake) error {
		refused, err := refusedRuns(ctx, intake, "")
		if err != nil {
			return err
		}
		return printRefused(terminal, c.JSON, refused)
	})
}

// refusedChange selects refused runs to change.
type refusedChange struct {
	Flag
	console.Format
	All       bool     `help:"All of them, at most 1,000."`
	IntakeIDs []string `arg:"" optional:"" name:"intake-id" help:"Ids from intake list."`
}

type intakeRetry struct{ refusedChange }

// Run makes refused runs due.
func (c *intakeRetry) Run(ctx context.Context, terminal *console.Console) error {
	return c.change(ctx, terminal, upkeep.Intake.RetryRefused)
}

type intakeDrop struct{ refusedChange }

// Run deletes refused runs.
func (c *intakeDrop) Run(ctx context.Context, terminal *console.Console) error {
	return c.change(ctx, terminal, upkeep.Intake.DropRefused)
}

// change applies a change to the selected runs and prints them as they were.
func (c *refusedChange) change(ctx context.Context, terminal *console.Console, do func(upkeep.Intake, context.Context, string) (bool, error)) error {
	if c.All == (len(c.IntakeIDs) > 0) {
		return console.Usage("name runs by their ids, or use --all")
	}
	return c.withIntake(ctx, func(intake upkeep.Intake) error {
		selected, err := c.selected(ctx, intake)
		if err != nil {
			return err
		}
		for _, one := range selected {
			switch done, err := do(intake, ctx, one.IntakeID); {
			case err != nil:
				return err
			case !done && !c.All:
				return fmt.Errorf("no refused run %q", one.IntakeID)
			}
		}
		return printRefused(terminal, c.JSON, selected)
	})
}

// selected returns the refused runs that the command names, or with --all the oldest ones.
func (c *refusedChange) selected(ctx context.Context, intake upkeep.Intake) ([]refusedRun, error) {
	if c.All {
		return refusedRuns(ctx, intake, "")
	}
	selected := []refusedRun{}
	for after := ""; ; {
		page, err := refusedRuns(ctx, intake, after)
		if err != nil {
			return nil, err
		}
		for _, one := range page {
			if slices.Contains(c.IntakeIDs, one.IntakeID) {
				selected = append(selected, one)
			}
			after = one.IntakeID
		}
		if len(page) < mostRefused {
			break
		}
	}
	for _, id := range c.IntakeIDs {
		if !slices.ContainsFunc(selected, func(one refusedRun) bool { return one.IntakeID == id }) {
			return nil, fmt.Errorf("no refused run %q", id)
		}
	}
	return selected, nil
}
