package cli

import "strings"

// quoteLine writes an argument vector as a line that a POSIX shell reads back as
// the same vector.
func quoteLine(argv []string) string {
	words := make([]string, len(argv))
	for i, argument := range argv {
		words[i] = quoteArgument(argument)
	}
	return strings.Join(words, " ")
}

func quoteArgument(argument string) string {
	if argument != "" && !strings.ContainsFunc(argument, needsQuotes) {
		return argument
	}
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}

func needsQuotes(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	default:
		return !strings.ContainsRune("%+,-./:=@_", r)
	}
}
