package shellcmd

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// maxParts and maxPartBytes bound the result of [Command.Parts].
	maxParts     = 4096
	maxPartBytes = 1 << 20
	// maxCarried bounds the nesting of commands inside words of other commands.
	maxCarried = 4
)

// Parts returns each command that may run: words separated by one blank, without quotes,
// assignments and redirections, and without wrapper programs that only run another. Commands
// inside words, such as for sh -c, are included, and commands in the one spelling of [CommutingGlob]. Lists and commands with redirections are
// included in printed form. It returns false if there are too many.
func (c *Command) Parts() ([]string, bool) {
	parts := &collected{}
	parts.read(c, maxCarried)
	return parts.texts, !parts.tooMany
}

// ArgvParts is [Command.Parts] for a program started with arguments.
func ArgvParts(argv []string) ([]string, bool) {
	parts := &collected{}
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = Scrub(word)
	}
	parts.call(words, maxCarried)
	return parts.texts, !parts.tooMany
}

type collected struct {
	texts   []string
	bytes   int
	tooMany bool
	// inDeclared says that the text is the value of a declared variable.
	inDeclared bool
}

func (p *collected) add(text string) {
	if p.tooMany || text == "" {
		return
	}
	if p.bytes += len(text); p.bytes > maxPartBytes || len(p.texts) == maxParts {
		p.tooMany = true
		return
	}
	p.texts = append(p.texts, text)
}

func (p *collected) read(c *Command, depth int) {
	inner := map[*syntax.Stmt]bool{}
	syntax.Walk(c.file, func(node syntax.Node) bool {
		if p.tooMany {
			return false
		}
		switch node := node.(type) {
		case *syntax.Stmt:
			p.statement(node, inner, depth)
		case *syntax.CallExpr:
			p.call(wordTexts(node, true), depth)
			if words, hidden := plainTexts(node); hidden {
				p.call(words, depth)
			}
			p.assigned(node.Assigns, false, depth)
		case *syntax.DeclClause:
			p.assigned(node.Args, true, depth)
		case *syntax.BinaryCmd:
			if isPipe(node) && runsText(node.Y) {
				p.piped(node.X, depth)
			}
		}
		return true
	})
}

// statement adds a statement in printed form, unless it is a plain call or inside another
// printed one.
func (p *collected) statement(s *syntax.Stmt, inner map[*syntax.Stmt]bool, depth int) {
	if list, is := s.Cmd.(*syntax.BinaryCmd); is {
		for _, side := range []*syntax.Stmt{list.X, list.Y} {
			if under, is := side.Cmd.(*syntax.BinaryCmd); is && isPipe(under) == isPipe(list) {
				inner[side] = true
			}
		}
	}
	for _, redirection := range s.Redirs {
		if runsText(s) && redirection.Hdoc != nil {
			p.carried(wordText(redirection.Hdoc, false), depth)
		}
		if runsText(s) && redirection.Op == syntax.WordHdoc {
			p.carried(wordText(redirection.Word, false), depth)
		}
	}
	call, calls := s.Cmd.(*syntax.CallExpr)
	if calls {
		p.substituted(s, call)
	}
	if calls && slices.ContainsFunc(call.Args, runsFile) {
		syntax.Walk(s, func(node syntax.Node) bool {
			if from, is := node.(*syntax.ProcSubst); is {
				for _, one := range from.Stmts {
					p.piped(one, depth)
				}
			}
			return !p.tooMany
		})
	}
	if inner[s] || calls && len(s.Redirs) == 0 && len(call.Assigns) == 0 {
		return
	}
	p.add(printed(s))
	if one := renamed(s, OneName); one != s {
		p.add(printed(one))
	}
	if list, is := s.Cmd.(*syntax.BinaryCmd); is && isPipe(list) {
		p.pipe(stages(s))
	}
}

func printed(node syntax.Node) string {
	var text strings.Builder
	if syntax.NewPrinter(syntax.SingleLine(true)).Print(&text, node) != nil {
		return ""
	}
	return strings.TrimSpace(Scrub(text.String()))
}

// wordTexts returns [wordText] of each word of a call.
func wordTexts(call *syntax.CallExpr, patterns bool) []string {
	words := make([]string, len(call.Args))
	for i, word := range call.Args {
		words[i] = wordText(word, patterns)
	}
	return words
}

// plainTexts returns the words of a call with their patterns and braces as they stand. The shell leaves a pattern so where no
// file matches, and repeats what is next to braces. hidden says that a pattern or braces hide a command.
func plainTexts(call *syntax.CallExpr) (words []string, hidden bool) {
	for _, word := range call.Args {
		text := wordText(word, false)
		hidden = hidden || isCommandLike(text) && text != wordText(word, true)
		words = append(words, text)
	}
	return words, hidden
}

// call adds a program with its words, and the commands that it runs.
func (p *collected) call(words []string, depth int) {
	if len(words) == 0 || !p.says(words[0]) {
		return
	}
	p.command(words)
	p.withoutOptions(words, mostInFront)
	name := OneName(words[0])
	for at := 1; at < len(words) && !p.tooMany; at++ {
		if optionRuns(name, words, at) {
			p.value(words[at], depth)
		}
	}
	if !wrappers[name] && !runsAnother(name, words) && !HasUnknown(words[0]) {
		return
	}
	for i := 1; i < len(words) && !p.tooMany; i++ {
		p.command(words[i:])
		if verbs := words[i+1 : min(len(words), i+1+mostVerbs)]; !isOption(words[i]) && slices.ContainsFunc(verbs, isOption) && programLike.MatchString(words[i]) {
			p.withoutOptions(words[i:], mostBehind)
		}
		if name == "xargs" || name == "parallel" {
			p.add(strings.Join(words[i:], " ") + " " + string(UnknownText))
		}
		word := words[i]
		if _, value, assigns := strings.Cut(word, "="); assigns && name == "alias" {
			word = value
		}
		if isCommandLike(word) {
			p.carried(word, depth)
			if isOption(word) {
				p.value(word, depth)
			} else if assigned := variable.FindString(word); assigned != "" {
				p.declared(word[len(assigned):], depth)
			}
		}
	}
	if len(words) > 2 && (joiners[name] || HasUnknown(words[0])) {
		p.carried(strings.Join(words[1:], " "), depth)
	}
}

// mostBundled is how many short options and letters of a value are told apart.
const mostBundled = 32

func isShortOption(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// value adds the commands in an option's value: behind its letter, its "=", and the "!" of git.
func (p *collected) value(word string, depth int) {
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		p.carried(word[2:], depth)
		for at := 3; at < len(word) && isShortOption(word[at-1]); at++ { // the option may be bundled with others
			if at > mostBundled {
				p.tooMany = true
				return
			}
			p.carried(word[at:], depth)
		}
	}
	p.carried(strings.TrimPrefix(word, "!"), depth)
	for {
		_, after, found := strings.Cut(word, "=")
		if !found {
			return
		}
		word = strings.TrimPrefix(after, "!")
		p.carried(word, depth)
	}
}

// command adds a command by the path, the name and the one name of its program, and in the one spelling of its options.
func (p *collected) command(words []string) {
	text, name := strings.Join(words, " "), programName(words[0])
	p.add(text)
	if name != words[0] && name != "" {
		p.add(name + text[len(words[0]):])
	}
	for _, form := range namedForms(words) {
		p.add(form)
	}
	plain := append([]string{OneName(words[0])}, words[1:]...)
	p.add(commutingForm(plain))
	if forced := withForce(plain); forced != nil {
		p.add(commutingForm(forced))
	}
}

func isOption(word string) bool { return strings.HasPrefix(word, "-") }

// programLike is a word that may name a program.
var programLike = regexp.MustCompile(`^[A-Za-z0-9_./~+-]+$`)

// mostVerbs is how many words say what a command does, such as "docker compose down".
const mostVerbs = 3

// mostInFront and mostBehind are how many words of options may stand in front of a subcommand with options behind it as well:
// directly behind a program, and elsewhere. Looking behind each word would be too many parts.
const mostInFront, mostBehind = 6, 2

// withoutOptions adds a command without the options in front of a subcommand: "git push" of
// "git -C x push". It is not known which options take the next word as their value: each reading counts.
func (p *collected) withoutOptions(words []string, most int) {
	first := 1
	for first < len(words) && !isOption(words[first]) {
		first++
	}
	if first > mostVerbs {
		return
	}
	if first > 1 {
		most = mostBehind
	}
	here, next := true, false // whether a subcommand may stand at this word, and at the next one
	for at := first; at < len(words) && (here || next) && !p.tooMany; at++ {
		then := false
		switch {
		case here && isOption(words[at]):
			next, then = true, at+1 < len(words) && !isOption(words[at+1])
		case here && at > first:
			short := append(slices.Clip(words[:first]), words[at:]...)
			p.command(short)
			if at <= first+most {
				p.withoutOptions(short, mostBehind)
			}
		}
		here, next = next, then
	}
}

// carried adds the parts of a command that stands in a word. Where that is none, its lines are parts:
// a shell runs those before the one that it cannot read.
func (p *collected) carried(text string, depth int) {
	if depth == 0 {
		p.tooMany = true
		return
	}
	command, err := Read(text)
	if err != nil {
		for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("\n;|&", r) }) {
			if p.says(line) {
				p.add(strings.Join(strings.Fields(line), " "))
			}
		}
		return
	}
	p.read(command, depth-1)
}

// piped adds what a command prints for a shell to run, as far as it stands in its words.
func (p *collected) piped(from *syntax.Stmt, depth int) {
	syntax.Walk(from, func(node syntax.Node) bool {
		if redirection, is := node.(*syntax.Redirect); is {
			if redirection.Hdoc != nil {
				p.carried(wordText(redirection.Hdoc, false), depth)
			}
			if redirection.Op == syntax.WordHdoc {
				p.carried(wordText(redirection.Word, false), depth)
			}
		}
		if call, is := node.(*syntax.CallExpr); is && len(call.Args) > 1 {
			words := wordTexts(call, true)
			p.carried(strings.Join(words[1:], " "), depth)
			if plain, hidden := plainTexts(call); hidden {
				p.carried(strings.Join(plain[1:], " "), depth)
			}
			for _, word := range words[1:] {
				if strings.ContainsAny(word, " \t\n;|&") {
					p.carried(word, depth)
				}
			}
		}
		return !p.tooMany
	})
}

// sources are the commands that run a file in the same shell.
var sources = WordSet("source .")

// runsFile reports whether a word makes a command run a file that it is given.
func runsFile(word *syntax.Word) bool {
	if _, is := word.Parts[0].(*syntax.ProcSubst); is {
		return false
	}
	text := wordText(word, true)
	return HasUnknown(text) || shells[OneName(text)] || sources[text]
}

// readers are the programs, besides shells and xargs, that run the commands that they read.
var readers = WordSet("parallel source . at batch crontab ssh mosh rsh su")

// runsText reports whether a statement is a program that runs what it reads.
func runsText(s *syntax.Stmt) bool {
	call, is := s.Cmd.(*syntax.CallExpr)
	if !is || len(call.Args) == 0 {
		return false
	}
	first := OneName(wordText(call.Args[0], true))
	return readers[first] || slices.ContainsFunc(call.Args, func(word *syntax.Word) bool {
		text := wordText(word, true)
		name := OneName(text)
		return HasUnknown(text) || shells[name] || name == "xargs" || wrappers[first] && readers[name]
	})
}

// PlainGlob returns a glob over commands as [Command.Parts] returns commands, and "" when it is not one
// command. Its wildcards stay what they are.
func PlainGlob(glob string) string {
	command, err := Read(glob)
	if err != nil || len(command.file.Stmts) != 1 {
		return ""
	}
	statement := command.file.Stmts[0]
	call, calls := statement.Cmd.(*syntax.CallExpr)
	if !calls || len(statement.Redirs) > 0 || len(call.Assigns) > 0 || statement.Background || statement.Negated {
		return printed(statement)
	}
	return strings.Join(wordTexts(call, false), " ")
}
