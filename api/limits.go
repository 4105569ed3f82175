package api

const (
	MinLeaseMs = 1_000
)

const (
	MaxLeaseMs = 3_600_000
)

const (
	DefaultLeaseMs = 30_000
)

// MaxMetadataBytes bounds the metadata of a session that grows by amendments. What a
// session was made with is bounded by the body that brought it.
const MaxMetadataBytes = 64 << 10

// Limits of texts, in bytes, and of counts. A reached limit is an invalid_request
// that names the member.
const (
	MaxTextLength            = 16 << 10
	MaxToolCallIDLength      = 256
	MaxNameLength            = 200
	MaxRequestsPerSuspension = 100
	MaxOpenRequests          = 1_000
	MaxQuestionsPerRequest   = 16
	MaxOptionsPerQuestion    = 64
	MaxPatternKeys           = 64
	MaxPatternKeyLength      = 1_024
	MaxEventsPerCall         = 1_000
	MaxContextIDs            = 64
	MaxResolutionsPerBatch   = 1_000
	// MaxExpiresAfterMs is a hundred years.
	MaxExpiresAfterMs = 100 * 365 * 24 * 3_600_000
)

// Limits of identifiers and keys, in bytes.
const (
	MaxIDLength             = 200
	MaxIdempotencyKeyLength = 256
)

const (
	// MaxJSONDepth is how deeply arrays and objects may nest.
	MaxJSONDepth = 64
)

// Limits and defaults of rules.
const (
	// DefaultRuleAgeMs is how long a rule holds when nobody says: 30 days.
	DefaultRuleAgeMs = 30 * 24 * 3_600_000
	// MaxRuleParams bounds the params of one rule, MaxGlobLength the bytes of a glob.
	MaxRuleParams = 64
	MaxGlobLength = 4_096
	// MaxRuleUses bounds RuleMatch's max_uses.
	MaxRuleUses = 1_000_000
)

// MaxSchemaBytes bounds a JSON Schema that a worker sends along.
const MaxSchemaBytes = 64 << 10

// MaxOutputsShown bounds the output records in a view; all of them are in the
// events.
const MaxOutputsShown = 100

// MaxClarificationsShown bounds the clarifications in a session's view; all of them
// are in the lists of questions.
const MaxClarificationsShown = 100
