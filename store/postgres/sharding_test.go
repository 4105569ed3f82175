package postgres

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// unsharded are the statements of deciding transactions that find rows by a key other than their
// session, with that key. docs/scaling.md, "What names no session", gives the reasons.
var unsharded = map[string]string{
	"load records": "scope", "insert idempotency_records": "scope",
	"load named rules": "rule_id", "load chosen runs": "run_id", "load tokens": "token_id", "sqlGuardTokens": "token_id",
	"load sign-ins": "cookie_hash", "sqlGuardSignIns": "cookie_hash",
}

// Every statement of a deciding transaction names the session whose rows it reaches, so that a
// table can be distributed by it.
func TestHotStatementsNameTheSession(t *testing.T) {
	t.Parallel()
	hot := regexp.MustCompile(`^(load |insert |update |sqlAmend|sqlGuard)`)
	seen := 0
	for name, sql := range statements(t) {
		if !hot.MatchString(name) {
			continue
		}
		seen++
		key := "session_id"
		if other := unsharded[name]; other != "" {
			key = other
		}
		require.Regexp(t, `\b`+key+`\b`, sql, name)
		if regexp.MustCompile(`^(update |sqlAmend)`).MatchString(name) {
			require.Regexp(t, `(?s)WHERE.*\b`+key+` = `, sql, name)
		}
		if regexp.MustCompile(`^load `).MatchString(name) {
			require.Regexp(t, `(?s)(WHERE|ON|FROM|JOIN).*\b`+key+`\b`, sql, name)
		}
	}
	require.Greater(t, seen, 15)
}
