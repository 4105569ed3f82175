package database

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/runs/doctor"
	"github.com/holdpoint/holdpoint/store"
)

// Doctor checks a database for inconsistencies.
type Doctor struct {
	Flag
	console.Format
	Limit int `default:"1000" placeholder:"N" help:"Print at most N findings; all are counted (default ${default})."`
}

// Help returns the text below the flags in --help.
func (c *Doctor) Help() string {
	return "Opens the database read-only, and may run while the service is running. Of SQLite it also checks the file's pages and indexes.\n\n" +
		"Exit codes: 0 no findings, 1 findings, 2 usage, 3 the check could not run."
}

// Run checks all rows and prints the findings.
func (c *Doctor) Run(ctx context.Context, terminal *console.Console) error {
	if c.Limit < 0 {
		return console.Usage("--limit must not be negative")
	}
	report := doctorReport{Findings: []doctor.Finding{}}
	begun := terminal.Now()
	var err error
	report.Summary, err = c.examine(ctx, func(finding doctor.Finding) {
		if len(report.Findings) < c.Limit {
			report.Findings = append(report.Findings, finding)
		}
	})
	switch {
	case errors.Is(err, store.ErrURL), errors.Is(err, store.ErrInMemory):
		return console.Usage("--database: %w", err)
	case err != nil:
		return console.Failed(console.ExitNotExamined, "%w", c.explain(err))
	}
	took := terminal.Now().Sub(begun)
	report.ElapsedMs = took.Milliseconds()
	if c.JSON {
		err = console.PrintJSON(terminal.Stdout, report)
	} else {
		err = report.print(terminal, took)
	}
	if err == nil && !report.Summary.Healthy() {
		err = console.ExitWith(console.ExitError)
	}
	return err
}

func (f Flag) examine(ctx context.Context, report func(doctor.Finding)) (doctor.Summary, error) {
	opened, err := store.Inspect(ctx, f.Database)
	if err != nil {
		return doctor.Summary{}, err
	}
	summary, err := doctor.Examine(ctx, opened, report)
	return summary, errors.Join(err, opened.Close())
}

// doctorReport is the JSON that doctor prints.
type doctorReport struct {
	// Findings are the first findings, up to --limit.
	Findings  []doctor.Finding `json:"findings"`
	Summary   doctor.Summary   `json:"summary"`
	ElapsedMs int64            `json:"elapsed_ms"`
}

func (r *doctorReport) print(terminal *console.Console, took time.Duration) error {
	if len(r.Findings) > 0 {
		rows := make([][]string, len(r.Findings))
		for i, finding := range r.Findings {
			rows[i] = []string{
				string(finding.Code), console.Cut(finding.SessionID, 40), console.Cut(finding.RunID, 40),
				console.Cut(about(finding), 40), finding.Detail,
			}
		}
		if err := terminal.Table([]string{"CODE", "SESSION", "RUN", "ABOUT", "WHAT IS WRONG"}, rows); err != nil {
			return err
		}
		fmt.Fprintln(terminal.Stdout)
	}
	if !r.Summary.Healthy() {
		var counts [][]string
		for _, code := range slices.Sorted(maps.Keys(r.Summary.Findings)) {
			counts = append(counts, []string{string(code), strconv.FormatInt(r.Summary.Findings[code], 10)})
		}
		if err := terminal.Table([]string{"CODE", "COUNT"}, counts); err != nil {
			return err
		}
		fmt.Fprintln(terminal.Stdout)
	}
	found := "nothing is wrong"
	if count := r.Summary.Count(); count > 0 {
		found = strconv.FormatInt(count, 10) + " findings"
		if more := count - int64(len(r.Findings)); more > 0 {
			found += fmt.Sprintf(", %d of them not shown", more)
		}
	}
	walked := r.Summary.Rows
	_, err := fmt.Fprintf(terminal.Stdout, "%s: checked %d sessions, %d runs, %d requests, %d events, %d idempotency records, %d effects, %d messages, %d rules and %d audit log entries in %s\n",
		found, walked.Sessions, walked.Runs, walked.Requests, walked.Events, walked.IdempotencyRecords, walked.Effects, walked.Messages, walked.Rules, walked.AuditEntries, took.Round(time.Millisecond))
	return err
}

// about returns the subject of a finding besides its session and run.
func about(finding doctor.Finding) string {
	event := ""
	if finding.EventID != 0 {
		event = strconv.FormatInt(finding.EventID, 10)
	}
	var parts []string
	for _, part := range [][2]string{
		{"", finding.RequestID},
		{"event ", event},
		{"effect ", finding.EffectID},
		{"message ", finding.MessageID},
		{"rule ", finding.RuleID},
		{"key ", finding.IdempotencyKey},
	} {
		if part[1] != "" {
			parts = append(parts, part[0]+part[1])
		}
	}
	return strings.Join(parts, ", ")
}
