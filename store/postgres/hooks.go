package postgres

import "strings"

// hookParts are the parts of the statements of package hooks that differ between the engines.
var hookParts = strings.NewReplacer(
	"{list}", `SELECT k.one FROM unnest($1::text[]) AS k (one)`,
	"{now $2}", nowMs, "{now $3}", nowMs, "{now $4}", nowMs,
	" {by due}", "", " {by webhook}", "",
)
