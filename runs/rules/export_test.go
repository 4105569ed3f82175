package rules

// Exported for tests.
var (
	MatchGlob = matchGlob
	UTCTime   = utcTime
)
