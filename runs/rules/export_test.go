package rules

// Exported for tests.
var UTCTime = utcTime

// MatchGlob reports whether a glob matches a whole text.
func MatchGlob(glob, text string) bool { return globMatch{glob: glob, text: text}.holds() }

// MatchByBudget matches as sets of rules do: most globs are decided without a look at the whole text.
func MatchByBudget(glob, text string, folders bool) (matches, decided bool) {
	return NewBudget(1).match(globMatch{glob: glob, text: text, folders: folders})
}

// RefusingTexts returns how many texts of a member deny and ask rules compare, and whether that is all of them.
func RefusingTexts(call *Call, member string) (texts int, all bool) {
	call.Budget = NewBudget(1)
	call.decode()
	looked := call.refusingTexts(member)
	return len(looked.texts), !looked.unread
}

// MatchFolders is MatchGlob with "**/" that also matches no folder.
func MatchFolders(glob, text string) bool {
	return globMatch{glob: glob, text: text, folders: true}.holds()
}
