package api

// Limits of leases, in milliseconds. A lease length of 0 in a command means DefaultLeaseMs.
const (
	MinLeaseMs     = 1_000
	MaxLeaseMs     = 3_600_000
	DefaultLeaseMs = 30_000
)

// MaxAbandonedAfterMs is the maximum of [Suspension.AbandonedAfterMs]: 30 days.
const MaxAbandonedAfterMs = 30 * 24 * 3_600_000

// Limits of texts, in bytes. A longer text is an invalid_request that names the member.
const (
	// MaxTextLength is the maximum length of free text: reasons, descriptions, questions, answers.
	MaxTextLength = 16 << 10
	// MaxIDLength is the maximum length of every identifier.
	MaxIDLength             = 200
	MaxIdempotencyKeyLength = 256
	MaxToolCallIDLength     = 256
	// MaxNameLength is the maximum length of names that are not identifiers, such as tool names.
	MaxNameLength = 200
	// MaxLabelLength is the maximum length of a session's label, in characters.
	MaxLabelLength = 80
	// MaxDirectoryLength is the maximum length of the directory in a session's origin.
	MaxDirectoryLength = 1_024
	// MaxActorLength is the maximum length of the X-Actor header, MaxViaLength of the X-Via header.
	MaxActorLength      = 200
	MaxViaLength        = 32
	MaxPatternKeyLength = 1_024
	// MaxGlobLength is the maximum length of a glob in a rule's params.
	MaxGlobLength = 4_096
	// MaxGlobText is the maximum length of a text matched by a glob. For a longer text, an allow
	// does not apply, and a deny or an ask does.
	MaxGlobText = 64 << 10
)

// Limits of JSON values.
const (
	// MaxMetadataBytes is the maximum size of session metadata after amendments. For a new session
	// only the request body's size limits its metadata.
	MaxMetadataBytes = 64 << 10
	// MaxSchemaBytes is the maximum size of a JSON Schema from a worker.
	MaxSchemaBytes = 64 << 10
	// MaxFaults is the maximum number of faults in an invalid_request.
	MaxFaults = 100
	// MaxJSONDepth is the maximum nesting depth of arrays and objects.
	MaxJSONDepth = 64
)

// Limits of counts. A longer array is an invalid_request that names the member.
const (
	MaxRequestsPerSuspension = 100
	// MaxOpenRequests is the maximum number of open requests of one run.
	MaxOpenRequests = 1_000
	// MaxOpenRequestBytes is the maximum total size of a run's open requests. Exceeding it is
	// CodeSuspensionTooLarge.
	MaxOpenRequestBytes = 8 << 20
	// MaxResumeRequests and MaxResumeBytes limit the requests of one run that are open or in its next
	// Resume: an attached run's decisions since the last checkpoint that includes them. Exceeding them is
	// CodeSuspensionTooLarge.
	MaxResumeRequests      = 10_000
	MaxResumeBytes         = 16 << 20
	MaxQuestionsPerRequest = 16
	// MaxPartialAnswerBytes is the maximum total size of the stored answers to some questions of a request. Sensitive ones
	// are stored encrypted, in 4/3 of their size. A whole answer, and its last part, are bounded by the request body only.
	MaxPartialAnswerBytes = 1 << 20
	MaxOptionsPerQuestion = 64
	MaxPatternKeys        = 64
	// MaxHints is the maximum number of hints of one request, of at most MaxHintLength bytes. As many more may
	// come from rules.
	MaxHints      = 8
	MaxHintLength = 500
	// MaxSensitivePaths is the maximum length of an approval's sensitive_paths.
	MaxSensitivePaths = 32
	// MaxEventsPerCall and MaxEventBytesPerCall limit one append of events. Exceeding either is
	// CodeAppendTooLarge; the client libraries split longer appends.
	MaxEventsPerCall     = 256
	MaxEventBytesPerCall = 512 << 10
	// MaxContextIDs is the maximum length of each list of project and channel ids of a
	// clarification.
	MaxContextIDs          = 64
	MaxResolutionsPerBatch = 1_000
	// MaxRunsPerClaim and MaxAgentsPerClaim limit a claim for several runs.
	MaxRunsPerClaim   = 100
	MaxAgentsPerClaim = 100
	// MaxQueuedRuns is the maximum number of queued runs of one session.
	MaxQueuedRuns = 1_000
	// MaxQueuedBytes is the maximum total size of their inputs and metadata. Together with
	// MaxClarificationBytes and the MaxOpenRequestBytes of the active run, one session has at most
	// 64 MiB of pending data.
	MaxQueuedBytes = 32 << 20
	// MaxOpenClarifications and MaxClarificationBytes limit the unanswered questions that other
	// sessions ask one session. Exceeding either is CodeQuestionsFull.
	MaxOpenClarifications = 1_000
	MaxClarificationBytes = 24 << 20
	// MaxMessages and MaxMessageBytes limit the unacknowledged messages of one session. Exceeding
	// either is CodeMailboxFull.
	MaxMessages     = 10_000
	MaxMessageBytes = 16 << 20
)

// Limits of time, in milliseconds.
const (
	// MaxExpiresAfterMs is a hundred years.
	MaxExpiresAfterMs = 100 * 365 * 24 * 3_600_000
	// MaxTimeMs is the maximum of a time since the epoch: the end of the year 9999, past which common
	// libraries have no dates.
	MaxTimeMs = 253_402_300_799_999
	// MaxWaitMs is the longest time a reply is held, by Prefer: wait and by wait_ms.
	MaxWaitMs = 60_000
)

// Limits and defaults of rules.
const (
	// DefaultRuleAgeMs is the lifetime of a rule for all sessions that has no expiry of its own: 30
	// days.
	DefaultRuleAgeMs = 30 * 24 * 3_600_000
	// MaxRuleParams is the maximum number of params of one rule.
	MaxRuleParams = 64
	// MaxRulesOfAllSessions and MaxRulesOfSession limit the active rules for all sessions and for
	// each session. Rules for one exact input do not count.
	MaxRulesOfAllSessions = 10_000
	MaxRulesOfSession     = 1_000
	// MaxRuleBytesOfAllSessions and MaxRuleBytesOfSession limit the total size of their matches,
	// texts and reasons, in bytes.
	MaxRuleBytesOfAllSessions = 32 << 20
	MaxRuleBytesOfSession     = 4 << 20
	// MaxExactRulesOfSession and MaxExactRuleBytesOfSession limit a session's rules for one exact
	// input. Exact rules for all sessions have no limit, because they are looked up one by one.
	MaxExactRulesOfSession     = 1_000
	MaxExactRuleBytesOfSession = 4 << 20
	// MaxRuleUses is the maximum max_uses of one rule.
	MaxRuleUses = 1_000_000
)

// Limits of lists and views.
const (
	// MaxPageLimit is the maximum ?limit= of paged lists; DefaultPageLimit is the page size without
	// it.
	MaxPageLimit     = 100
	DefaultPageLimit = 50
	// MaxUnpaged is the maximum length of a list without ?page= and ?limit=.
	MaxUnpaged = 1_000
	// MaxSummaryInputBytes is the maximum size of an approval's input in a summary.
	MaxSummaryInputBytes = 4 << 10
	// MaxLeasesShown is the maximum number of leases in a [WorkersView].
	MaxLeasesShown = 1_000
	// MaxEventsPerList is the maximum ?limit= of events.
	MaxEventsPerList = 1_000
	// MaxReplyBytes is the maximum size of the rows in a page or view. A page always has at least
	// one row.
	MaxReplyBytes = 4 << 20
	// MaxOutputsShown is the maximum number of output records in a view. The list has all of them.
	MaxOutputsShown = 100
	// MaxContextCalls is the maximum ?context= of a request.
	MaxContextCalls = 20
	// MaxAlsoExplained is the maximum number of requests that the rules of a decision are tried on.
	MaxAlsoExplained = 100
	// MaxSameOpen is the maximum same_as_open of a request. MaxSearchedRequests and MaxSearchedBytes
	// limit the open approvals that are searched for it.
	MaxSameOpen         = 100
	MaxSearchedRequests = 10_000
	MaxSearchedBytes    = 8 << 20
	// MaxClarificationsShown is the maximum number of clarifications in a session's view. The
	// question lists have all of them.
	MaxClarificationsShown = 100
)
