package api

// Limits of leases, in milliseconds. A lease length of 0 in a command stands for
// DefaultLeaseMs.
const (
	MinLeaseMs     = 1_000
	MaxLeaseMs     = 3_600_000
	DefaultLeaseMs = 30_000
)

// Limits of texts, in bytes. A longer one is an invalid_request that names the member.
const (
	// MaxTextLength bounds free text: reasons, descriptions, questions, answers.
	MaxTextLength = 16 << 10
	// MaxIDLength bounds every identifier.
	MaxIDLength             = 200
	MaxIdempotencyKeyLength = 256
	MaxToolCallIDLength     = 256
	// MaxNameLength bounds names that are no identifiers, such as a tool's.
	MaxNameLength = 200
	// MaxActorLength bounds the X-Actor header, MaxViaLength the X-Via header.
	MaxActorLength      = 200
	MaxViaLength        = 32
	MaxPatternKeyLength = 1_024
	// MaxGlobLength bounds a glob in the params of a rule.
	MaxGlobLength = 4_096
	// MaxGlobText bounds the text that a glob is matched against. For a longer one an allow
	// does not apply, and a deny or an ask does.
	MaxGlobText = 64 << 10
)

// Limits of JSON values.
const (
	// MaxMetadataBytes bounds the metadata of a session that grows by amendments. The
	// metadata of a new session is bounded by the size of its request body.
	MaxMetadataBytes = 64 << 10
	// MaxSchemaBytes bounds a JSON Schema that a worker sends.
	MaxSchemaBytes = 64 << 10
	// MaxFaults bounds the faults that an invalid_request lists.
	MaxFaults = 100
	// MaxJSONDepth bounds how deeply arrays and objects nest.
	MaxJSONDepth = 64
)

// Limits of counts. A longer array is an invalid_request that names the member.
const (
	MaxRequestsPerSuspension = 100
	// MaxOpenRequests bounds the open requests of one run.
	MaxOpenRequests = 1_000
	// MaxOpenRequestBytes bounds the bodies of the open requests of one run together; one more
	// is CodeSuspensionTooLarge.
	MaxOpenRequestBytes    = 8 << 20
	MaxQuestionsPerRequest = 16
	MaxOptionsPerQuestion  = 64
	MaxPatternKeys         = 64
	// MaxSensitivePaths bounds the sensitive_paths of an approval.
	MaxSensitivePaths = 32
	MaxEventsPerCall  = 1_000
	// MaxContextIDs bounds each list of project and channel ids of a clarification.
	MaxContextIDs          = 64
	MaxResolutionsPerBatch = 1_000
	// MaxRunsPerClaim and MaxAgentsPerClaim bound one claim for several runs.
	MaxRunsPerClaim   = 100
	MaxAgentsPerClaim = 100
	// MaxQueuedRuns bounds the queued runs of one session.
	MaxQueuedRuns = 1_000
	// MaxQueuedBytes bounds their inputs and metadata. With MaxClarificationBytes and the
	// MaxOpenRequestBytes of the run that holds the slot a session has at most 64 MiB that wait.
	MaxQueuedBytes = 32 << 20
	// MaxOpenClarifications and MaxClarificationBytes bound what other sessions ask one session
	// and is not answered; one more is CodeQuestionsFull.
	MaxOpenClarifications = 1_000
	MaxClarificationBytes = 24 << 20
	// MaxMessages and MaxMessageBytes bound the messages of one session that are not
	// acknowledged; one more is CodeMailboxFull.
	MaxMessages     = 10_000
	MaxMessageBytes = 16 << 20
)

// Limits of time, in milliseconds.
const (
	// MaxExpiresAfterMs is a hundred years.
	MaxExpiresAfterMs = 100 * 365 * 24 * 3_600_000
	// MaxWaitMs bounds how long a reply is held, by Prefer: wait and by wait_ms.
	MaxWaitMs = 60_000
)

// Limits and defaults of rules.
const (
	// DefaultRuleAgeMs is how long a rule of all sessions holds when its maker gives no expiry: 30
	// days.
	DefaultRuleAgeMs = 30 * 24 * 3_600_000
	// MaxRuleParams bounds the params of one rule.
	MaxRuleParams = 64
	// MaxRulesOfAllSessions and MaxRulesOfSession bound the rules in force that are not about
	// one exact input: those that hold in all sessions, and those of each session.
	MaxRulesOfAllSessions = 10_000
	MaxRulesOfSession     = 1_000
	// MaxRuleBytesOfAllSessions and MaxRuleBytesOfSession bound their matches, texts and reasons
	// together, in bytes.
	MaxRuleBytesOfAllSessions = 32 << 20
	MaxRuleBytesOfSession     = 4 << 20
	// MaxExactRulesOfSession and MaxExactRuleBytesOfSession bound those of one session that are
	// about one exact input. Those of all sessions are looked up one by one and have no bound.
	MaxExactRulesOfSession     = 1_000
	MaxExactRuleBytesOfSession = 4 << 20
	// MaxRuleUses bounds the max_uses of one rule.
	MaxRuleUses = 1_000_000
)

// Limits of lists and views.
const (
	// MaxPageLimit bounds ?limit= of lists in pages; DefaultPageLimit is the page size
	// without it.
	MaxPageLimit     = 100
	DefaultPageLimit = 50
	// MaxUnpaged bounds a list that is asked for without ?page= and ?limit=.
	MaxUnpaged = 1_000
	// MaxSummaryInputBytes bounds the input of an approval in a summary.
	MaxSummaryInputBytes = 4 << 10
	// MaxLeasesShown bounds the leases of a [WorkersView].
	MaxLeasesShown = 1_000
	// MaxEventsPerList bounds ?limit= of events.
	MaxEventsPerList = 1_000
	// MaxReplyBytes bounds the rows of a page or view. A page has one row at least.
	MaxReplyBytes = 4 << 20
	// MaxOutputsPerList bounds ?limit= of output records.
	MaxOutputsPerList = 1_000
	// MaxOutputsShown bounds the output records in a view; their list has all of them.
	MaxOutputsShown = 100
	// MaxClarificationsShown bounds the clarifications in a session's view; the lists of
	// questions have all of them.
	MaxClarificationsShown = 100
)
