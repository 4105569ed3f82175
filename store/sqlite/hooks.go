package sqlite

import "github.com/holdpoint/holdpoint/store/hooks"

var hookStatements = hooks.Statements{
	Due: `
SELECT f.session_id, f.effect_id
FROM effects AS f INDEXED BY effects_due
WHERE f.webhook_id = $1 AND f.webhook_id <> '' AND f.due_at_ms <= $3
	AND NOT EXISTS (
		SELECT 1 FROM effects AS p INDEXED BY effects_owed_to_webhooks
		WHERE p.session_id = f.session_id AND p.webhook_id = f.webhook_id AND p.webhook_id <> '' AND p.effect_id < f.effect_id AND p.due_at_ms IS NOT NULL
	)
ORDER BY f.due_at_ms, f.session_id, f.effect_id
LIMIT $2`,
	// An origin is the first 8 characters of its owner and 8 more, after
	// "deliver_webhook:callback:".
	DueCallbacks: `
SELECT f.session_id, f.effect_id
FROM effects AS f INDEXED BY effects_due
WHERE f.webhook_id = 'callback' AND f.due_at_ms <= $3
	AND substr(f.effect_id, 26, 8) NOT IN (SELECT one.value FROM json_each($1) AS one)
	AND substr(f.effect_id, 26, 16) NOT IN (SELECT one.value FROM json_each($1) AS one)
ORDER BY f.due_at_ms, f.session_id, f.effect_id
LIMIT $2`,
	CountNotice: sqlCountNotice,
	DueNotices: `
SELECT f.session_id, f.effect_id
FROM effects AS f INDEXED BY effects_due
WHERE f.webhook_id = $1 AND f.webhook_id <> '' AND f.due_at_ms <= $3
ORDER BY f.due_at_ms, f.session_id, f.effect_id
LIMIT $2`,
	OrphanNotices: `
SELECT f.session_id, f.effect_id
FROM effects AS f INDEXED BY effects_due
WHERE f.webhook_id >= 'notify.' AND f.webhook_id < 'notify/' AND f.webhook_id <> '' AND f.due_at_ms <= $4 - $3
	AND f.webhook_id NOT IN (SELECT one.value FROM json_each($1) AS one)
LIMIT $2`,
	AddressesOf: `
WHERE a.principal IN (SELECT one.value FROM json_each($1) AS one)
ORDER BY a.created_at_ms, a.address_id`,
	Orphans: `
SELECT f.session_id, f.effect_id
FROM effects AS f INDEXED BY effects_due
WHERE f.webhook_id <> '' AND f.due_at_ms <= $2
	AND f.webhook_id <> 'callback' AND f.kind <> 'notify' AND f.webhook_id NOT IN (SELECT w.webhook_id FROM webhooks AS w WHERE w.disabled_at_ms = 0)
LIMIT $1`,
}
