package postgres

import "github.com/holdpoint/holdpoint/store/hooks"

var hookStatements = hooks.Statements{
	Due: `
SELECT f.session_id, f.effect_id
FROM effects AS f
WHERE f.webhook_id = $1::text AND f.webhook_id <> '' AND f.due_at_ms <= floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint
	AND NOT EXISTS (
		SELECT FROM effects AS p
		WHERE p.session_id = f.session_id AND p.webhook_id = f.webhook_id AND p.webhook_id <> '' AND p.effect_id < f.effect_id AND p.due_at_ms IS NOT NULL
	)
ORDER BY f.due_at_ms, f.session_id, f.effect_id
LIMIT $2::bigint`,
	// An origin is the first 8 characters of its owner and 8 more, after
	// "deliver_webhook:callback:".
	DueCallbacks: `
SELECT f.session_id, f.effect_id
FROM effects AS f
WHERE f.webhook_id = 'callback' AND f.due_at_ms <= floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint
	AND substr(f.effect_id, 26, 8) NOT IN (SELECT k.half FROM unnest($1::text[]) AS k (half))
	AND substr(f.effect_id, 26, 16) NOT IN (SELECT k.half FROM unnest($1::text[]) AS k (half))
ORDER BY f.due_at_ms, f.session_id, f.effect_id
LIMIT $2::bigint`,
	CountNotice: sqlCountNotice,
	DueNotices: `
SELECT f.session_id, f.effect_id
FROM effects AS f
WHERE f.webhook_id = $1::text AND f.webhook_id <> '' AND f.due_at_ms <= floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint
ORDER BY f.due_at_ms, f.session_id, f.effect_id
LIMIT $2::bigint`,
	OrphanNotices: `
SELECT f.session_id, f.effect_id
FROM effects AS f
WHERE f.webhook_id >= 'notify.' AND f.webhook_id < 'notify/' AND f.webhook_id <> ''
	AND f.due_at_ms <= floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint - $3::bigint
	AND f.webhook_id NOT IN (SELECT k.known FROM unnest($1::text[]) AS k (known))
LIMIT $2::bigint`,
	AddressesOf: `
WHERE a.principal IN (SELECT k.principal FROM unnest($1::text[]) AS k (principal))
ORDER BY a.created_at_ms, a.address_id`,
	Orphans: `
SELECT f.session_id, f.effect_id
FROM effects AS f
WHERE f.webhook_id <> '' AND f.due_at_ms <= floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint
	AND f.webhook_id <> 'callback' AND f.kind <> 'notify' AND f.webhook_id NOT IN (SELECT w.webhook_id FROM webhooks AS w WHERE w.disabled_at_ms = 0)
LIMIT $1::bigint`,
}
