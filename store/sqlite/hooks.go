package sqlite

import "strings"

// hookParts are the parts of the statements of package hooks that differ between the engines.
var hookParts = strings.NewReplacer(
	"{list}", `SELECT k.value FROM json_each($1) AS k`,
	"{now $2}", "$2", "{now $3}", "$3", "{now $4}", "$4",
	"{by due}", "INDEXED BY effects_due", "{by webhook}", "INDEXED BY effects_owed_to_webhooks",
)
