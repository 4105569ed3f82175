package prompt

import "strings"

// QuoteLine formats arguments as a line that a POSIX shell reads back as the same
// arguments.
func QuoteLine(argv []string) string {
	words := make([]string, len(argv))
	for i, argument := range argv {
		words[i] = QuoteArgument(argument)
	}
	return strings.Join(words, " ")
}

// QuoteArgument formats one argument for a POSIX shell.
func QuoteArgument(argument string) string {
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
