package statements

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStatementsAreNamedWithoutTheirValues(t *testing.T) {
	t.Parallel()
	for sql, name := range map[string]string{
		"SELECT r.run_id FROM runs AS r WHERE r.run_id = $1":                                        "SELECT runs",
		"\nWITH locked AS (SELECT s.session_id FROM sessions AS s FOR UPDATE) SELECT * FROM locked": "SELECT sessions",
		"INSERT INTO events (id) SELECT unnest($1::text[])":                                         "INSERT events",
		"SELECT a FROM unnest($1::text[]) AS k (id) JOIN LATERAL (SELECT FROM runs) AS l ON true":   "SELECT runs",
		"UPDATE requests AS q SET redemption = $4":                                                  "UPDATE requests",
		"DELETE FROM ONLY runs WHERE true":                                                          "DELETE runs",
		"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE":                                           "BEGIN",
		"SET search_path TO a":                                                                      "SET",
		"COMMIT":                                                                                    "COMMIT",
		"-- SELECT 1 FROM secret\nSELECT 'hunter2 FROM secrets', floor(1)":                          "SELECT",
		"VACUUM": "OTHER",
	} {
		require.Equal(t, name, nameOf(sql), sql)
	}
}

func TestOnlySoManyNamesAreKept(t *testing.T) {
	t.Parallel()
	tracer := New(nil)
	for n := range 3 * maxNames {
		require.Equal(t, "SELECT t", tracer.name("SELECT "+string(rune('a'+n))+" FROM t"))
	}
	kept := 0
	tracer.names.Range(func(any, any) bool { kept++; return true })
	require.Equal(t, maxNames, kept)
}
