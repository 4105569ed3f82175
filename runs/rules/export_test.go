package rules

// What the tests look at by itself.
var (
	MatchGlob = matchGlob
	UTCTime   = utcTime
)
