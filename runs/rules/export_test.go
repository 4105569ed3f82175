package rules

// Exported for tests.
var UTCTime = utcTime

// MatchGlob reports whether a glob matches a whole text.
func MatchGlob(glob, text string) bool { return globMatch{glob: glob, text: text}.holds() }

// MatchByBudget matches as sets of rules do: most globs are decided without a look at the whole text.
func MatchByBudget(glob, text string, folders bool) (matches, decided bool) {
	return NewBudget(1).match(globMatch{glob: glob, text: text, folders: folders})
}

// MatchFolders is MatchGlob with "**/" that also matches no folder.
func MatchFolders(glob, text string) bool {
	return globMatch{glob: glob, text: text, folders: true}.holds()
}
