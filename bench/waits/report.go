//go:build unix

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/holdpoint/holdpoint/bench/load"
)

// String returns the line printed after a measurement.
func (m *measurement) String() string {
	line := fmt.Sprintf("%3d clients, round %d: %-10s %7.0f waits/s, p50 %s ms, p99 %s ms%s",
		m.Clients, m.Round, m.Subject, m.PerSecond(), milliseconds(m.Whole.P50), milliseconds(m.Whole.P99), m.CPU)
	if m.Shares != nil {
		line += fmt.Sprintf(", shares of the workers %v", m.Shares)
	}
	return line
}

// String returns the CPU part of that line.
func (c *cpu) String() string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf(", CPU ms a wait %.2f + %.2f + %.2f, others %.1f cores", c.Service, c.Postgres, c.Load, c.Others)
}

func milliseconds[Number int64 | float64](microseconds Number) string {
	value := float64(microseconds) / 1000
	switch {
	case value < 10:
		return fmt.Sprintf("%.2f", value)
	case value < 100:
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.0f", value)
}

func (r *report) printConditions(out io.Writer) error {
	c := r.Conditions
	lines := []string{
		fmt.Sprintf("%d CPUs (%s), %s, %s, load average before %s.", c.CPUs, c.CPUModel, c.OS, c.Go, c.LoadAverage),
		fmt.Sprintf("Database: %s.", c.Database),
	}
	if c.Postgres != nil {
		var shown []string
		for _, name := range slices.Sorted(maps.Keys(c.Postgres)) {
			shown = append(shown, name+"="+c.Postgres[name])
		}
		lines = append(lines, "Postgres: "+strings.Join(shown, ", ")+".")
	}
	lines = append(lines, fmt.Sprintf("Subjects: %s; %d rounds of %s each after %s, each on a fresh database. Medians of the rounds.",
		strings.Join(c.Subjects, ", "), c.Rounds, c.Duration, c.Warmup))
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}

// row is a line of a table.
type row struct {
	Subject, PerSecond, Range, Ratio, WholeP50, WholeP99, DeliveryP50, DeliveryP99, Service, Postgres, Load, Others string
}

var table = template.Must(template.New("").Parse(`
{{.Clients}} clients
| | waits/s | (range) | ratio | wait p50 ms | p99 ms | decision → handler p50 ms | p99 ms | CPU ms a wait: service | Postgres | load | others' cores |
|---|---|---|---|---|---|---|---|---|---|---|---|
{{range .Rows}}| {{.Subject}} | {{.PerSecond}} | {{.Range}} | {{.Ratio}} | {{.WholeP50}} | {{.WholeP99}} | {{.DeliveryP50}} | {{.DeliveryP99}} | {{.Service}} | {{.Postgres}} | {{.Load}} | {{.Others}} |
{{end}}`))

// printTable prints the results for a number of clients, as Markdown.
func (r *report) printTable(out io.Writer, clients int) error {
	var rows []row
	first := r.of(r.Conditions.Subjects[0], clients)
	for _, subject := range r.Conditions.Subjects {
		rows = append(rows, rowOf(subject, r.of(subject, clients), first))
	}
	return table.Execute(out, struct {
		Clients int
		Rows    []row
	}{clients, rows})
}

// of returns the results of a subject in the order of the rounds.
func (r *report) of(subject string, clients int) []measurement {
	var found []measurement
	for _, m := range r.Measurements {
		if m.Subject == subject && m.Clients == clients {
			found = append(found, m)
		}
	}
	return found
}

func rowOf(subject string, measured, first []measurement) row {
	perSecond := each(measured, func(m measurement) float64 { return m.PerSecond() })
	var ratios []float64
	for i := range measured {
		ratios = append(ratios, perSecond[i]/first[i].PerSecond())
	}
	spread := func(of func(load.Result) int64) string {
		return milliseconds(median(each(measured, func(m measurement) float64 { return float64(of(m.Result)) })))
	}
	r := row{
		Subject: subject, PerSecond: fmt.Sprintf("%.0f", median(perSecond)),
		Range:    fmt.Sprintf("%.0f–%.0f", slices.Min(perSecond), slices.Max(perSecond)),
		Ratio:    fmt.Sprintf("%.2f (%.2f–%.2f)", median(ratios), slices.Min(ratios), slices.Max(ratios)),
		WholeP50: spread(func(r load.Result) int64 { return r.Whole.P50 }), WholeP99: spread(func(r load.Result) int64 { return r.Whole.P99 }),
		DeliveryP50: spread(func(r load.Result) int64 { return r.Delivery.P50 }), DeliveryP99: spread(func(r load.Result) int64 { return r.Delivery.P99 }),
		Service: "–", Postgres: "–", Load: "–", Others: "–",
	}
	used := func(of func(*cpu) float64) string {
		return fmt.Sprintf("%.2f", median(each(measured, func(m measurement) float64 { return of(m.CPU) })))
	}
	if slices.ContainsFunc(measured, func(m measurement) bool { return m.CPU == nil }) {
		return r
	}
	r.Load, r.Others = used(func(c *cpu) float64 { return c.Load }), used(func(c *cpu) float64 { return c.Others })
	if measured[0].CPU.Service > 0 {
		r.Service = used(func(c *cpu) float64 { return c.Service })
	}
	if measured[0].CPU.Postgres > 0 {
		r.Postgres = used(func(c *cpu) float64 { return c.Postgres })
	}
	return r
}

func each(measured []measurement, of func(measurement) float64) []float64 {
	var values []float64
	for _, m := range measured {
		values = append(values, of(m))
	}
	return values
}

// median returns the middle value, or the mean of the two middle values.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
