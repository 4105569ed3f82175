package shellcmd

import (
	"regexp"
	"slices"
	"strings"
)

// optionMark stands before each option, and before the other words, of a command in the one spelling of its options.
const optionMark = "\uFDD2"

// commuting are programs, some with a subcommand, whose options may stand in any order, bundled, and behind other
// words: the short names of their long options, or else the whole name.
var commuting = map[string]map[string]string{
	"rm":           {"--recursive": "-r", "--force": "-f", "--verbose": "-v", "--dir": "-d"},
	"cp":           {"--recursive": "-r", "--force": "-f", "--archive": "-a"},
	"mv":           {"--force": "-f"},
	"chmod":        {"--recursive": "-r"},
	"chown":        {"--recursive": "-r"},
	"chgrp":        {"--recursive": "-r"},
	"git push":     {"--force": "-f", "--delete": "-d", "--mirror": "--mirror", "--prune": "--prune", "--no-verify": "--no-verify"},
	"git reset":    {"--hard": "--hard"},
	"git clean":    {"--force": "-f"},
	"git branch":   {"--delete": "-d", "--force": "-f", "--move": "-m", "--copy": "-c"},
	"git checkout": {"--force": "-f"},
}

// takeValues are the short options of these programs whose value is the rest of the word, or the next one.
var takeValues = map[string]string{"cp": "t", "mv": "t", "git push": "o", "git clean": "e", "git branch": "u", "git checkout": "bB"}

// commutingWords returns a program of commuting, its options in one spelling, sorted, and its other words. It
// returns false for another program.
func commutingWords(words []string) (program string, options, others []string, known bool) {
	program, rest := strings.ToLower(words[0]), words[1:]
	long, known := commuting[program]
	if !known && len(rest) > 0 {
		program, rest = program+" "+strings.ToLower(rest[0]), rest[1:]
		long, known = commuting[program]
	}
	if !known {
		return "", nil, nil, false
	}
	end := slices.Index(append(slices.Clip(rest), "--"), "--")
	for _, word := range rest[:end] {
		switch {
		case strings.HasPrefix(word, "--"):
			options = append(options, oneOption(long, strings.ToLower(word)))
		case isOption(word) && word != "-":
			for _, letter := range word[1:] {
				options = append(options, "-"+strings.ToLower(string(letter)))
				if strings.ContainsRune(takeValues[program], letter) {
					break
				}
			}
		default:
			others = append(others, word)
		}
	}
	slices.Sort(options)
	return program, slices.Compact(options), append(others, rest[min(end+1, len(rest)):]...), true
}

// oneOption returns the one spelling of a long option, which may be only its beginning.
func oneOption(long map[string]string, word string) string {
	var found []string
	for name, short := range long {
		if name == word || abbreviates(word, name) && !strings.Contains(word, "=") {
			found = append(found, short)
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	return word
}

// commutingForm returns a command in the one spelling of its options, and "" without options and for a program
// that is not in commuting.
func commutingForm(words []string) string {
	program, options, others, known := commutingWords(words)
	if !known || len(options) == 0 {
		return ""
	}
	// An unknown word here stands for itself: not for the options that a rule names.
	return spelledOnce(program, "", options, strings.ReplaceAll(behind(others), string(UnknownText), string(UnknownWord)))
}

// forces is an option of git branch that does the same as the small letter with --force.
var forces = regexp.MustCompile(`^-[A-Za-tv-z]*[CDM]`)

// withForce returns a command with the --force that an option of it includes, and nil for another command.
func withForce(words []string) []string {
	if len(words) < 3 || words[0] != "git" || words[1] != "branch" || !slices.ContainsFunc(words[2:], forces.MatchString) {
		return nil
	}
	return slices.Insert(slices.Clone(words), 2, "-f")
}

// CommutingGlob returns the glob that matches the commands of a glob in the one spelling of their options, in
// which [Command.Parts] has them as well. With further, a command may have more options. It returns "" for a glob
// without options, for one with a wildcard in an option, and for a program that is not known for this.
func CommutingGlob(glob string, further bool) string {
	words := strings.Fields(PlainGlob(glob))
	if len(words) == 0 {
		return ""
	}
	program, options, others, known := commutingWords(words)
	if !known || len(options) == 0 || strings.ContainsAny(strings.Join(options, ""), "*?") {
		return ""
	}
	before, text := "", behind(others)
	if further {
		before = "**"
	}
	if strings.Trim(text, "*") == " " {
		text = "**" // nothing as well
	}
	return spelledOnce(program, before, options, text)
}

func spelledOnce(program, before string, options []string, others string) string {
	var text strings.Builder
	text.WriteString(program + " ")
	for _, option := range options {
		text.WriteString(before + optionMark + option + " ")
	}
	return text.String() + before + optionMark + others
}

func behind(words []string) string {
	return strings.Join(append([]string{""}, words...), " ")
}
