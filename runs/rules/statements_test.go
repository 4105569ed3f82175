package rules_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// A person who allows "SELECT **" means one statement.
func TestAnAllowOfStatementsCoversNoFurtherStatement(t *testing.T) {
	t.Parallel()
	decide := func(tool, member, glob string, value any) api.RuleEffect {
		return decided(t, api.RuleAllow, tool, map[string]string{member: glob}, map[string]any{member: value})
	}
	for _, member := range []string{"query", "sql", "statement", "Query", "sql_query", "raw-sql", "statements", "stmt", "queryText", "searchQuery"} {
		for _, text := range []string{
			"SELECT 1; DROP TABLE x", "SELECT 1;DROP TABLE x;", "SELECT 1;\nDROP TABLE x", "SELECT 1;; DROP TABLE x", "SELECT 1; -- a\nDROP TABLE x", "SELECT 1; -- a\rDROP TABLE x",
			"SELECT 1; -- a\u2028DROP TABLE x", "SELECT 1; -- a\x00DROP TABLE x", "SELECT 1;--1", "SELECT 1; /* a */ DROP TABLE x", "SELECT 1; /*! DROP TABLE x */", "SELECT 1; # a\nDROP TABLE x",
			`SELECT 'a\'; DROP TABLE x; -- '`, `SELECT "a\"; DROP TABLE x; -- "`, "SELECT $$a'$$; DROP TABLE x; --'", "SELECT /* '*/ 1; DROP TABLE x /*' */", "SELECT 'a;b'", "SELECT 1; -- a; b\n", "SELECT 1;\u00a0x",
			"SELECT '; -- '; DROP TABLE x", "SELECT 1 /*;*/; DROP TABLE x", "SELECT 1 /*; -- */; DROP TABLE x", "SELECT `; -- `; DROP TABLE x", "SELECT $$; -- $$; DROP TABLE x", "SELECT [; -- ]; DROP TABLE x",
			"SELECT \u2018; -- \u2019; DROP TABLE x", "SELECT 1 {; -- }; DROP TABLE x", `SELECT /*"*/ '; -- '; DROP TABLE x /*"*/`,
		} {
			require.Equal(t, api.RuleAsk, decide("db", member, "SELECT **", text), "%s %q", member, text)
		}
		for _, text := range []string{"SELECT 1", "SELECT 1;", "SELECT 1 ; \n", "SELECT 1;;", "SELECT 1; -- all; done", "SELECT 1; -- it's all", "SELECT 1; -- für a, b (c); d!", "SELECT a\n-- b\nFROM x;", "SELECT count(*) FROM '/etc/x'"} {
			require.Equal(t, api.RuleAllow, decide("db", "query", "SELECT **", text), "%q", text)
		}
	}
	for _, test := range []struct {
		glob  string
		value any
		is    api.RuleEffect
	}{
		{"SELECT 1; SELECT **", "SELECT 1; SELECT 2", api.RuleAllow},
		{"SELECT 1; SELECT **", "SELECT 1; SELECT 2; DROP TABLE x", api.RuleAsk},
		{"SELECT **; SELECT **", "SELECT 1; DROP TABLE x; SELECT 2", api.RuleAsk},
		{"SELECT **;", "SELECT 1;", api.RuleAllow},
		{"SELECT **;", "SELECT 1; DROP TABLE x;", api.RuleAsk},
		{"SELECT 1? DROP TABLE x", "SELECT 1; DROP TABLE x", api.RuleAsk},
		{"SELECT 1; DROP TABLE x", "SELECT 1; DROP TABLE x", api.RuleAllow},
		{"SELECT 1; -- **", "SELECT 1; -- a", api.RuleAllow},
		{"SELECT 1; -- **", "SELECT 1; -- a\nDROP TABLE x", api.RuleAsk},
		{`["SELECT **"]`, []string{"SELECT 1"}, api.RuleAllow},
		{`["SELECT **"]`, []string{"SELECT 1; DROP TABLE x"}, api.RuleAsk},
		{`["SELECT **"]`, []string{"SELECT 1", "DROP TABLE x"}, api.RuleAsk},
		{`["SELECT **"]`, []string{"SELECT 1; -- a"}, api.RuleAllow},
		{`["SELECT **"]`, []string{"SELECT 1; -- a\nDROP TABLE x"}, api.RuleAsk},
		{`["SELECT **","SELECT **"]`, []string{"SELECT 1; -- a", "SELECT 2; DROP TABLE x"}, api.RuleAsk},
		{`{"sql":"SELECT **"}`, map[string]string{"sql": "SELECT 1; DROP TABLE x"}, api.RuleAsk},
	} {
		require.Equal(t, test.is, decide("db", "query", test.glob, test.value), "%q and %q", test.glob, test.value)
	}
	// A tool whose name says that it runs commands, and quotes that end elsewhere for a shell.
	require.Equal(t, api.RuleAsk, decide("execute_sql", "sql", "SELECT **", `SELECT "a\"; DROP TABLE x; -- "`))
	require.Equal(t, api.RuleAllow, decide("execute_sql", "sql", "SELECT **", "SELECT a FROM b"))
	require.Equal(t, api.RuleAllow, decide("mail", "text", "a**", "a; b"))
}

func TestADenyOfStatementsLooksAtEach(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"db", "execute_sql"} {
		for _, text := range []string{
			"DROP TABLE x", "drop  table x;", "SELECT 1; DROP TABLE x", "SELECT 1;DROP\nTABLE x", "/* a */ DROP TABLE x", "-- a\nDROP TABLE x", "SELECT 1; /*!50000 DROP TABLE x */", "DROP/**/TABLE x", "# a\nDROP TABLE x", ";;DROP TABLE x",
			"SELECT '--'; DROP/**/TABLE x", "SELECT '#'; DROP/**/TABLE x", "SELECT '/*'; DROP/**/TABLE x", "SELECT 1 # 2; DROP/**/TABLE x", "SELECT '--'; DROP/*;*/TABLE x", "-- a\rDROP TABLE x", "DROP -- a\rTABLE x",
			"/* /* */ */ DROP/**/TABLE x", "DROP /* /* */ */ TABLE x", "/*!50000 DROP/**/TABLE x */", "DROP /*!50000 TABLE*/ x", "/*!99999 a */ DROP # b\nTABLE x", `SELECT '\'--'; DROP /* ' */ TABLE x`, "SELECT 1; DROP--a\nTABLE x",
			strings.Repeat(";/*", 10_000),
		} {
			for _, value := range []any{text, []string{"SELECT 1", text}} {
				require.Equal(t, api.RuleDeny, decided(t, api.RuleDeny, tool, map[string]string{"query": "DROP TABLE **"}, map[string]any{"Query": value}), "%s %q", tool, value)
			}
		}
		for _, text := range []string{"SELECT 1", "SELECT drop FROM table", "SELECT a -- DROP TABLE x", "SELECT '--', 'DROP TABLE x'", "DROP INDEX x /* DROP TABLE x */"} {
			require.Equal(t, api.RuleAsk, decided(t, api.RuleDeny, tool, map[string]string{"query": "DROP TABLE **"}, map[string]any{"query": text}), "%s %q", tool, text)
		}
	}
}

// A quoted text hides the comments behind it from no rule.
func TestADenyOfStatementsLooksBehindQuotes(t *testing.T) {
	t.Parallel()
	glob := map[string]string{"sql": "SELECT ** INTO OUTFILE **"}
	for _, text := range []string{
		"SELECT/**/'--' INTO/**/OUTFILE 'x'", "SELECT/**/'/*' INTO/**/OUTFILE 'x'", "SELECT/**/'\\'--' INTO # a\nOUTFILE 'x'", `SELECT/**/"#" INTO/* /* */ */OUTFILE 'x'`, "SELECT ';' INTO/**/OUTFILE 'x'",
		"SELECT 5--1 INTO/**/OUTFILE 'x'", "SELECT 5-- 1\nINTO/**/OUTFILE 'x'", "SELECT 5--\nINTO/**/OUTFILE 'x'",
	} {
		require.Equal(t, api.RuleDeny, decided(t, api.RuleDeny, "db", glob, map[string]any{"sql": text}), "%q", text)
	}
	require.Equal(t, api.RuleAsk, decided(t, api.RuleDeny, "db", glob, map[string]any{"sql": "SELECT 1 INTO x"}))
	glob = map[string]string{"sql": "COPY ** TO PROGRAM **"}
	for _, text := range []string{
		"COPY/**/(SELECT $$--$$) TO/**/PROGRAM 'x'", "COPY/**/(SELECT $$-- $$) TO/**/PROGRAM 'x'", "COPY/**/(SELECT $a$--$$'$b$$a$) TO/**/PROGRAM 'x'", "COPY/**/(SELECT $$;/*$$) TO/**/PROGRAM 'x'", "COPY/**/(SELECT $$a$$, $é1$--$é1$) TO/**/PROGRAM 'x'",
		"COPY/**/(SELECT $1 + a$$--$$\n) TO/**/PROGRAM 'x'", "COPY a--$$\nTO/**/PROGRAM 'x'", "COPY/**/(SELECT '$$', '--') TO/**/PROGRAM 'x'", "COPY/**/a TO/**/PROGRAM $$x",
	} {
		require.Equal(t, api.RuleDeny, decided(t, api.RuleDeny, "db", glob, map[string]any{"sql": text}), "%q", text)
	}
	for _, text := range []string{strings.Repeat("$a$$", 15_000), strings.Repeat("$", 60_000), "COPY x TO y $$PROGRAM$$"} {
		require.Equal(t, api.RuleAsk, decided(t, api.RuleDeny, "db", glob, map[string]any{"sql": text}), "%.20q", text)
	}
}
