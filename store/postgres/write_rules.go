package postgres

import (
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/rules"
)

const sqlInsertRules = `
INSERT INTO rules (
	created_at_ms, expires_at_ms, max_uses, uses, revoked_at_ms, session_id, rule_id,
	agent_id, tool_name, effect, input_digest, source_run_id, source_request_id,
	payload_digest, created_by, revoked_by, reason, text, match)
SELECT
	($1::bigint[])[u.i], nullif(($2::bigint[])[u.i], 0), nullif(($3::bigint[])[u.i], 0),
	($4::bigint[])[u.i], nullif(($5::bigint[])[u.i], 0), ($6::text[])[u.i], ($7::text[])[u.i],
	nullif(($8::text[])[u.i], ''), nullif(($9::text[])[u.i], ''), ($10::text[])[u.i],
	nullif(($11::text[])[u.i], ''), nullif(($12::text[])[u.i], ''),
	nullif(($13::text[])[u.i], ''), nullif(($14::text[])[u.i], ''), ($15::text[])[u.i],
	nullif(($16::text[])[u.i], ''), nullif(($17::text[])[u.i], ''), ($18::text[])[u.i],
	($19::text[])[u.i]
FROM generate_subscripts($6::text[], 1) AS u (i)`

func insertRulesArguments(rows []*rules.Rule) []any {
	return []any{
		integers(rows, func(l *rules.Rule) int64 { return l.CreatedAtMs }),
		integers(rows, func(l *rules.Rule) int64 { return l.ExpiresAtMs }),
		integers(rows, func(l *rules.Rule) int64 { return l.MaxUses }),
		integers(rows, func(l *rules.Rule) int64 { return l.Uses }),
		integers(rows, func(l *rules.Rule) int64 { return l.RevokedAtMs }),
		texts(rows, func(l *rules.Rule) string { return l.SessionID }),
		texts(rows, func(l *rules.Rule) string { return l.RuleID }),
		texts(rows, func(l *rules.Rule) string { return l.AgentID }),
		texts(rows, func(l *rules.Rule) string { return l.ToolName }),
		texts(rows, func(l *rules.Rule) string { return string(l.Effect) }),
		texts(rows, func(l *rules.Rule) string { return l.Match.InputDigest }),
		texts(rows, func(l *rules.Rule) string { return l.SourceRunID }),
		texts(rows, func(l *rules.Rule) string { return l.SourceRequestID }),
		texts(rows, func(l *rules.Rule) string { return l.PayloadDigest }),
		texts(rows, func(l *rules.Rule) string { return l.CreatedBy }),
		texts(rows, func(l *rules.Rule) string { return l.RevokedBy }),
		texts(rows, func(l *rules.Rule) string { return l.Reason }),
		texts(rows, func(l *rules.Rule) string { return l.Text }),
		texts(rows, matchText),
	}
}

// matchText is empty for a match that has no JSON form, and the database refuses it;
// every match that a rule is made with has one.
func matchText(l *rules.Rule) string {
	text, err := document.Canonical(l.Match)
	if err != nil {
		return ""
	}
	return string(text)
}

// sqlUpdateRules leaves alone what a rule says, which never changes.
const sqlUpdateRules = `
UPDATE rules AS l SET
	uses = ($3::bigint[])[u.i],
	revoked_at_ms = nullif(($4::bigint[])[u.i], 0),
	revoked_by = nullif(($5::text[])[u.i], '')
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS u (session_id, rule_id, i)
WHERE l.session_id = u.session_id AND l.rule_id = u.rule_id`

func updateRulesArguments(rows []*rules.Rule) []any {
	return []any{
		texts(rows, func(l *rules.Rule) string { return l.SessionID }),
		texts(rows, func(l *rules.Rule) string { return l.RuleID }),
		integers(rows, func(l *rules.Rule) int64 { return l.Uses }),
		integers(rows, func(l *rules.Rule) int64 { return l.RevokedAtMs }),
		texts(rows, func(l *rules.Rule) string { return l.RevokedBy }),
	}
}
