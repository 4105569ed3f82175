package storetest

import (
	"context"
	"maps"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// WalkedTables returns the rows of a store, which must be a [model.Walker], as its
// walk shows them: without the payloads of runs.
func WalkedTables(ctx context.Context, t require.TestingT, store runs.Store) Tables {
	walker, ok := store.(model.Walker)
	require.True(t, ok, "the store %T cannot be walked", store)
	tables := Tables{}
	for name := range tableKeys {
		tables[name] = nil
	}
	require.NoError(t, walker.Walk(ctx, func(rows *model.SessionRows) error {
		if rows.Session != nil {
			tables.add("sessions", sessionColumns(rows.Session))
		}
		gather(t, tables, "runs", rows.Runs, runColumns)
		gather(t, tables, "requests", rows.Requests, requestColumns)
		gather(t, tables, "events", rows.Events, eventColumns)
		gather(t, tables, "idempotency_records", rows.Records, recordColumns)
		gather(t, tables, "effects", rows.Effects, effectColumns)
		gather(t, tables, "messages", rows.Messages, messageColumns)
		gather(t, tables, "rules", rows.Rules, ruleColumns)
		return nil
	}))
	tables.sort()
	return tables
}

func gather[R any](t require.TestingT, tables Tables, name string, rows model.RowSequence[R], columns func(*R) map[string]any) {
	for row, err := range rows {
		require.NoError(t, err)
		tables.add(name, columns(row))
	}
}

// WithoutPayloads returns the tables without the columns that a walk omits.
func (t Tables) WithoutPayloads() Tables {
	bare := Tables{}
	maps.Copy(bare, t)
	bare["runs"] = make([]Row, 0, len(t["runs"]))
	for _, run := range t["runs"] {
		kept := Row{}
		for column, value := range run {
			if column != "input" && column != "checkpoint" {
				kept[column] = value
			}
		}
		bare["runs"] = append(bare["runs"], kept)
	}
	return bare
}
