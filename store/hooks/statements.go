package hooks

import "strings"

// statements are the statements that differ between the engines.
type statements struct {
	// Due takes $1 webhook_id and the limit $2, and returns session_id and effect_id of
	// deliveries that may start now, longest due first: for each session only the first pending
	// one. The current time is the last argument if the database has no clock.
	Due string
	// DueCallbacks takes the list $1 of excluded origins and owners and the limit $2, and returns
	// the same for callbacks. Callbacks do not wait for each other.
	DueCallbacks string
	// Orphans takes the limit $1, and returns the same for deleted or disabled webhooks, in any
	// order.
	Orphans string
	// DueNotices takes $1 webhook_id and the limit $2, and returns the messages of a channel that
	// may be sent now. OrphanNotices takes the list $1 of excluded webhook_ids, the limit $2 and $3 how
	// long a message must be due, and returns messages of other channels, in any order.
	DueNotices, OrphanNotices string
	// AddressesOf follows the columns of addresses AS a. It selects the addresses of the principals
	// in the list $1, oldest first.
	AddressesOf string
}

// newStatements returns the statements of an engine; see [New].
func newStatements(parts *strings.Replacer) *statements {
	return &statements{
		Due: parts.Replace(`
SELECT f.session_id, f.effect_id
FROM effects AS f {by due}
WHERE f.webhook_id = $1 AND f.webhook_id <> '' AND f.due_at_ms <= {now $3}
	AND NOT EXISTS (
		SELECT 1 FROM effects AS p {by webhook}
		WHERE p.session_id = f.session_id AND p.webhook_id = f.webhook_id AND p.webhook_id <> '' AND p.effect_id < f.effect_id AND p.due_at_ms IS NOT NULL
	)
ORDER BY f.due_at_ms, f.session_id, f.effect_id
LIMIT CAST($2 AS bigint)`),
		// An origin is the first 8 characters of its owner and 8 more, after
		// "deliver_webhook:callback:".
		DueCallbacks: parts.Replace(`
SELECT f.session_id, f.effect_id
FROM effects AS f {by due}
WHERE f.webhook_id = 'callback' AND f.due_at_ms <= {now $3}
	AND substr(f.effect_id, 26, 8) NOT IN ({list})
	AND substr(f.effect_id, 26, 16) NOT IN ({list})
ORDER BY f.due_at_ms, f.session_id, f.effect_id
LIMIT CAST($2 AS bigint)`),
		Orphans: parts.Replace(`
SELECT f.session_id, f.effect_id
FROM effects AS f {by due}
WHERE f.webhook_id <> '' AND f.due_at_ms <= {now $2}
	AND f.webhook_id <> 'callback' AND f.kind <> 'notify' AND f.webhook_id NOT IN (SELECT w.webhook_id FROM webhooks AS w WHERE w.disabled_at_ms = 0)
LIMIT CAST($1 AS bigint)`),
		DueNotices: parts.Replace(`
SELECT f.session_id, f.effect_id
FROM effects AS f {by due}
WHERE f.webhook_id = $1 AND f.webhook_id <> '' AND f.due_at_ms <= {now $3}
ORDER BY f.due_at_ms, f.session_id, f.effect_id
LIMIT CAST($2 AS bigint)`),
		OrphanNotices: parts.Replace(`
SELECT f.session_id, f.effect_id
FROM effects AS f {by due}
WHERE f.webhook_id >= 'notify.' AND f.webhook_id < 'notify/' AND f.webhook_id <> ''
	AND f.due_at_ms <= {now $4} - CAST($3 AS bigint) AND f.webhook_id NOT IN ({list})
LIMIT CAST($2 AS bigint)`),
		AddressesOf: parts.Replace(`
WHERE a.principal IN ({list})
ORDER BY a.created_at_ms, a.address_id`),
	}
}

// The statements that are the same in both engines. Those that differ in parts are made by newStatements. The engines'
// tests check the plans of both.

// The statements about webhooks. sqlAddWebhook has the columns in the order of selectAll, and in $12 the
// maximum number of webhooks. sqlChangeWebhook takes $1 webhook_id, $2 settings, $3 data_key, $4 secret, $5
// previous_secret, $6 previous_until_ms, $7 disabled_at_ms, $8 disabled_reason, $9 updated_at_ms and $10 the
// previous updated_at_ms.
const (
	sqlAddWebhook = `
INSERT INTO webhooks (webhook_id, settings, data_key, secret, previous_secret, previous_until_ms, disabled_at_ms, disabled_reason,
	created_at_ms, created_by, updated_at_ms)
SELECT CAST($1 AS text), CAST($2 AS text), CAST($3 AS text), CAST($4 AS text), CAST($5 AS text), CAST($6 AS bigint), CAST($7 AS bigint), CAST($8 AS text),
	CAST($9 AS bigint), CAST($10 AS text), CAST($11 AS bigint)
WHERE (SELECT count(*) FROM webhooks) < CAST($12 AS bigint)`
	sqlChangeWebhook = `
UPDATE webhooks SET settings = $2, data_key = $3, secret = $4, previous_secret = $5, previous_until_ms = $6, disabled_at_ms = $7,
	disabled_reason = $8, updated_at_ms = $9
WHERE webhook_id = $1 AND updated_at_ms = $10`
	sqlRemoveWebhook = `DELETE FROM webhooks WHERE webhook_id = $1`
)

// The statements about people's addresses and codes.
//
// sqlAddAddress takes $1 address_id, $2 principal, $3 channel, $4 address, $5 code_hash, $6 code_until_ms, $7
// created_at_ms, $8 the maximum number of addresses per person, and $9 to $14 the subjects of three counts, each with
// the mark that it must have. sqlTryCode takes $1 address_id, $2 principal, $3 the current time and $4 the maximum
// number of tries. sqlVerifyAddress and sqlVerifyOnlyAddress take $1 address_id, $2 principal,
// $3 code_hash and $4 the current time.
//
// sqlCountCode takes $1 to $5 of a count (subject, since_ms, sent, last_ms and the new mark), and $6 to $8 of the address
// with the code (address_id, code_hash, code_until_ms): without it nothing is counted. sqlDropCodeCounts takes $1 the time
// before which counts have expired.
//
// sqlLockSubject takes $1 the subject of a count and $2 the current time. sqlAddSubscription takes $1
// address_id, $2 principal, $3 channel, $4 address, $5 the current time and $6 the maximum number of addresses
// per person.
const (
	sqlAddAddress = `
INSERT INTO addresses (address_id, principal, channel, address, verified_at_ms, code_hash, code_until_ms, code_tries, created_at_ms)
SELECT CAST($1 AS text), CAST($2 AS text), CAST($3 AS text), CAST($4 AS text), 0, CAST($5 AS text), CAST($6 AS bigint), 0, CAST($7 AS bigint)
WHERE (SELECT count(*) FROM addresses AS o WHERE o.principal = CAST($2 AS text) AND o.address_id <> CAST($1 AS text)) < CAST($8 AS bigint)
	AND (SELECT count(*) FROM code_counts AS c WHERE c.subject IN ($9, $11, $13)
		AND c.mark = CASE c.subject WHEN CAST($9 AS text) THEN CAST($10 AS text) WHEN CAST($11 AS text) THEN CAST($12 AS text) ELSE CAST($14 AS text) END) = 3
ON CONFLICT (principal, channel, address) DO UPDATE SET
	code_hash = excluded.code_hash, code_until_ms = excluded.code_until_ms, code_tries = 0
WHERE addresses.verified_at_ms = 0 AND addresses.address_id = excluded.address_id`
	sqlTryCode = `
UPDATE addresses SET code_tries = code_tries + 1
WHERE address_id = $1 AND principal = $2 AND verified_at_ms = 0 AND code_until_ms > $3 AND code_tries < $4`
	sqlVerifyAddress = `
UPDATE addresses SET verified_at_ms = $4, code_hash = ''
WHERE address_id = $1 AND principal = $2 AND verified_at_ms = 0 AND code_hash = $3 AND code_hash <> '' AND code_until_ms > $4`
	sqlVerifyOnlyAddress = `
UPDATE addresses SET verified_at_ms = $4, code_hash = ''
WHERE address_id = $1 AND principal = $2 AND verified_at_ms = 0 AND code_hash = $3 AND code_hash <> '' AND code_until_ms > $4
	AND NOT EXISTS (SELECT 1 FROM addresses AS o WHERE o.channel = addresses.channel AND o.address = addresses.address
		AND o.principal <> addresses.principal AND o.verified_at_ms > 0)`
	sqlRemoveAddress = `DELETE FROM addresses WHERE address_id = $1 AND principal = $2`
	sqlCountCode     = `
UPDATE code_counts SET since_ms = CAST($2 AS bigint), sent = CAST($3 AS bigint), last_ms = CAST($4 AS bigint), mark = CAST($5 AS text)
WHERE subject = $1 AND EXISTS (
	SELECT 1 FROM addresses AS a WHERE a.address_id = CAST($6 AS text) AND a.code_hash = CAST($7 AS text) AND a.code_until_ms = CAST($8 AS bigint))`
	sqlDropCodeCounts = `
DELETE FROM code_counts WHERE subject IN (
	SELECT old.subject FROM code_counts AS old WHERE old.since_ms <= CAST($1 AS bigint) ORDER BY old.since_ms LIMIT 1000)`
	// It locks the row of a count, which it creates if there is none. The next statement sees what others have committed.
	sqlLockSubject = `
INSERT INTO code_counts (subject, since_ms, sent, last_ms, mark) VALUES (CAST($1 AS text), CAST($2 AS bigint), 0, 0, '')
ON CONFLICT (subject) DO UPDATE SET mark = code_counts.mark`
	sqlAddSubscription = `
INSERT INTO addresses (address_id, principal, channel, address, verified_at_ms, code_hash, code_until_ms, code_tries, created_at_ms)
SELECT CAST($1 AS text), CAST($2 AS text), CAST($3 AS text), CAST($4 AS text), CAST($5 AS bigint), '', 0, 0, CAST($5 AS bigint)
WHERE (SELECT count(*) FROM addresses AS o WHERE o.principal = CAST($2 AS text) AND o.address_id <> CAST($1 AS text)) < CAST($6 AS bigint)
ON CONFLICT (address_id) DO UPDATE SET
	principal = excluded.principal, address = excluded.address, verified_at_ms = excluded.verified_at_ms, created_at_ms = excluded.created_at_ms`
)

const (
	sqlSetQuietHours = `
INSERT INTO quiet_hours (principal, zone, from_minutes, to_minutes)
VALUES (CAST($1 AS text), CAST($2 AS text), CAST($3 AS bigint), CAST($4 AS bigint))
ON CONFLICT (principal) DO UPDATE SET zone = excluded.zone, from_minutes = excluded.from_minutes, to_minutes = excluded.to_minutes`
	sqlClearQuietHours = `DELETE FROM quiet_hours WHERE principal = $1`
)

// sqlSetPresence takes $1 principal, $2 until_ms, $3 request_handle, $4 session_id and $5 agent_id. What was there of the
// last three stays if until_ms was after $6.
const sqlSetPresence = `
INSERT INTO presence (principal, until_ms, request_handle, session_id, agent_id)
VALUES (CAST($1 AS text), CAST($2 AS bigint), CAST($3 AS text), CAST($4 AS text), CAST($5 AS text))
ON CONFLICT (principal) DO UPDATE SET
	until_ms = excluded.until_ms,
	request_handle = CASE WHEN presence.until_ms > CAST($6 AS bigint) THEN presence.request_handle ELSE excluded.request_handle END,
	session_id = CASE WHEN presence.until_ms > CAST($6 AS bigint) THEN presence.session_id ELSE excluded.session_id END,
	agent_id = CASE WHEN presence.until_ms > CAST($6 AS bigint) THEN presence.agent_id ELSE excluded.agent_id END`

// The statements about links. A wrong code and a right one both need a try that is left, so that many
// guesses at once are no more guesses than one after the other. The tries of all links of a person count, too.
//
// sqlAddLink takes the columns of selectLink without tries, and $8 and $9 the times of its creation and its
// end. sqlDropLinks takes $1 the time up to which links have ended. sqlTryLink takes $1 token_hash, $2 how many
// tries to count, $3 the maximum number of tries, $4 the current time and $5 the maximum for all links of the
// person. sqlNoteLink takes $1 token_hash and $2 the current time. sqlLockLink takes what
// sqlTryLink takes, and comes before it. sqlLockSubject comes first, so that tries of several
// links at once are counted one after the other.
const (
	sqlAddLink = `
INSERT INTO links (token_hash, principal, address_id, channel, session_id, request_handle, code_hash, tries, locked_at_ms, created_at_ms, expires_at_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, $8, $9)`
	sqlDropLinks = `
DELETE FROM links WHERE token_hash IN (
	SELECT old.token_hash FROM links AS old WHERE old.expires_at_ms <= CAST($1 AS bigint) ORDER BY old.expires_at_ms LIMIT 1000)`
	sqlTryLink = `
UPDATE links SET tries = tries + CAST($2 AS bigint)
WHERE token_hash = $1 AND tries < CAST($3 AS bigint) AND expires_at_ms > CAST($4 AS bigint)
	AND (SELECT sum(o.tries) FROM links AS o WHERE o.principal = links.principal) < CAST($5 AS bigint)`
	sqlNoteLink = `UPDATE links SET locked_at_ms = CAST($2 AS bigint) WHERE token_hash = $1 AND locked_at_ms = 0`
	sqlLockLink = `
UPDATE links SET locked_at_ms = CAST($4 AS bigint)
WHERE token_hash = $1 AND locked_at_ms = 0 AND tries < CAST($3 AS bigint) AND tries + CAST($2 AS bigint) >= CAST($3 AS bigint)
	AND expires_at_ms > CAST($4 AS bigint) AND (SELECT sum(o.tries) FROM links AS o WHERE o.principal = links.principal) < CAST($5 AS bigint)`
)

// sqlCountNotice writes the count of the messages to a person, unless another call has changed it. It takes $1 principal,
// $2 since_ms, $3 sent, $4 message_ids, and $5 to $7 the last three of the row before: 0, 0 and an empty text for none.
const sqlCountNotice = `
INSERT INTO notice_counts (principal, since_ms, sent, message_ids)
VALUES (CAST($1 AS text), CAST($2 AS bigint), CAST($3 AS bigint), CAST($4 AS text))
ON CONFLICT (principal) DO UPDATE SET since_ms = excluded.since_ms, sent = excluded.sent, message_ids = excluded.message_ids
WHERE notice_counts.since_ms = CAST($5 AS bigint) AND notice_counts.sent = CAST($6 AS bigint) AND notice_counts.message_ids = CAST($7 AS text)`

// sqlAddFlood writes the row of the message that counts a flood if the statement before has written its count. It takes $1
// request_handle, $2 channel, $3 principal, $4 message_id and $5 begun_at_ms, and $6 message_ids of the count.
const sqlAddFlood = `
INSERT INTO sent_messages (request_handle, channel, principal, message_id, reference, begun_at_ms, sent_at_ms)
SELECT CAST($1 AS text), CAST($2 AS text), CAST($3 AS text), CAST($4 AS text), '', CAST($5 AS bigint), 0
WHERE EXISTS (SELECT 1 FROM notice_counts AS c WHERE c.principal = CAST($3 AS text) AND c.message_ids = CAST($6 AS text))
ON CONFLICT (request_handle, channel, principal) DO NOTHING`

// The statements about messages that are withdrawn. sqlAddSent takes the columns of selectSent. sqlReplaceSent
// takes the same, and $8 message_id and $9 begun_at_ms of the row before. sqlDropSent takes $1 the time before which
// messages are forgotten. sqlRemoveSent takes $1 request_handle, $2 channel, $3 principal and $4 message_id.
const (
	sqlAddSent = `
INSERT INTO sent_messages (request_handle, channel, principal, message_id, reference, begun_at_ms, sent_at_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (request_handle, channel, principal) DO NOTHING`
	sqlReplaceSent = `
UPDATE sent_messages SET message_id = $4, reference = $5, begun_at_ms = $6, sent_at_ms = $7
WHERE request_handle = $1 AND channel = $2 AND principal = $3 AND message_id = $8 AND begun_at_ms = $9`
	sqlDropSent = `
DELETE FROM sent_messages WHERE (request_handle, channel, principal) IN (
	SELECT old.request_handle, old.channel, old.principal FROM sent_messages AS old WHERE old.begun_at_ms <= CAST($1 AS bigint)
	ORDER BY old.begun_at_ms LIMIT 1000)`
	sqlRemoveSent = `DELETE FROM sent_messages WHERE request_handle = $1 AND channel = $2 AND principal = $3 AND message_id = $4`
)
