package storetest

import "github.com/holdpoint/holdpoint/store/columns"

// The columns of rows, by name.
var (
	sessionColumns = cells(columns.Sessions)
	runColumns     = cells(columns.Runs)
	requestColumns = cells(columns.Requests)
	eventColumns   = cells(columns.Events)
	recordColumns  = cells(columns.Records)
	effectColumns  = cells(columns.Effects)
	messageColumns = cells(columns.Messages)
	ruleColumns    = cells(columns.Rules)
)

// cells returns the function that returns the columns of a row without its version, which is random.
func cells[R any](table *columns.Table[R]) func(*R) map[string]any {
	return func(row *R) map[string]any {
		made := map[string]any{}
		for i := range table.Columns {
			if c := &table.Columns[i]; c.Name != "version" {
				made[c.Name] = c.Value(row)
			}
		}
		return made
	}
}
