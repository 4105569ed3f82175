package shellcmd

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// isPipe reports whether a list is a pipe.
func isPipe(list *syntax.BinaryCmd) bool { return list.Op == syntax.Pipe || list.Op == syntax.PipeAll }

// stages returns the commands of a pipe in order, without the brackets around them.
func stages(s *syntax.Stmt) []*syntax.Stmt {
	switch command := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		if isPipe(command) {
			return append(stages(command.X), stages(command.Y)...)
		}
	case *syntax.Subshell:
		return stagesIn(s, command.Stmts)
	case *syntax.Block:
		return stagesIn(s, command.Stmts)
	case *syntax.TimeClause:
		if command.Stmt != nil {
			return stages(command.Stmt)
		}
	}
	return []*syntax.Stmt{s}
}

// stagesIn returns the commands that brackets put into a pipe: of several statements, the one that runs what it reads.
func stagesIn(brackets *syntax.Stmt, inside []*syntax.Stmt) []*syntax.Stmt {
	if at := slices.IndexFunc(inside, runsText); at >= 0 {
		return stages(inside[at])
	}
	if len(inside) == 1 {
		return stages(inside[0])
	}
	return []*syntax.Stmt{brackets}
}

// pipe adds each run of a pipe's commands: without redirections and folders, by the one name of each program, without
// wrappers, and without the options of a shell that reads its text. Behind the last command is into.
func (p *collected) pipe(all []*syntax.Stmt, into ...string) {
	const ways = 5
	var texts [ways][]string
	for _, stage := range all {
		forms := [ways]string{}
		for way, words := range stageForms(stage) {
			forms[way] = strings.Join(words, " ")
		}
		for way := range texts {
			if forms[way] == "" {
				forms[way] = printed(stage)
			}
			texts[way] = append(texts[way], forms[way])
		}
	}
	for way := range texts {
		texts[way] = append(texts[way], into...)
	}
	for way, run := range texts {
		if slices.ContainsFunc(texts[:way], func(before []string) bool { return slices.Equal(before, run) }) {
			continue
		}
		for from := range run {
			for to := from + 2; to <= len(run) && !p.tooMany; to++ {
				if part := run[from:to]; !slices.ContainsFunc(part, func(command string) bool { return !p.says(command) }) {
					p.add(strings.Join(part, " | "))
				}
			}
		}
	}
}

// substituted adds what a shell runs of another command's output, as if that were piped into it: sh -c "$(curl x)".
func (p *collected) substituted(s *syntax.Stmt, call *syntax.CallExpr) {
	words := wordTexts(call, true)
	if len(words) == 0 {
		return
	}
	named, at := oneNames(words, OneName)
	shell := named[at] == "sh" || HasUnknown(named[at])
	text := slices.Contains(named[:at+1], "eval") || shell && slices.ContainsFunc(words[at+1:], func(word string) bool { return bundles(word, "c") }) ||
		shell && slices.ContainsFunc(s.Redirs, func(from *syntax.Redirect) bool { return from.Hdoc != nil || from.Op == syntax.WordHdoc })
	if !shell && !text {
		return
	}
	syntax.Walk(s, func(node syntax.Node) bool {
		var inner []*syntax.Stmt
		switch node := node.(type) {
		case *syntax.ProcSubst:
			inner = node.Stmts
		case *syntax.CmdSubst:
			if text {
				inner = node.Stmts
			}
		}
		for _, one := range inner {
			p.pipe(stages(one), "sh")
		}
		return len(inner) == 0 && !p.tooMany
	})
}

// stageForms returns the words of a pipe's command, nil for a command that is not a program.
func stageForms(stage *syntax.Stmt) [][]string {
	call, calls := stage.Cmd.(*syntax.CallExpr)
	if !calls || len(call.Args) == 0 {
		return nil
	}
	words := wordTexts(call, true)
	names, at := oneNames(words, OneName)
	names = withModule(names, at)
	named := withoutPython(names, at)
	plain := slices.Clone(words[at:])
	plain[0] = programName(plain[0])
	short := named[at:]
	if short[0] == "sh" && (readsText(short) || at > 0 && (named[0] == "xargs" || named[0] == "parallel")) || len(short) == 2 && short[1] == "-" {
		short = short[:1]
	}
	return [][]string{named, named[at:], plain, short, names[at:]}
}

var (
	// standardInputs are files that a shell reads its standard input by.
	standardInputs = WordSet("/dev/stdin /dev/fd/0 /proc/self/fd/0")
	// valuesOfShells are the options of shells whose value is the next word.
	valuesOfShells = WordSet("-o +o -O +O --rcfile --init-file")
)

// readsText reports whether a shell runs its standard input.
func readsText(words []string) bool {
	for at := 1; at < len(words); at++ {
		switch word := words[at]; {
		case valuesOfShells[word]:
			at++
		case bundles(word, "c"):
			return false
		case bundles(word, "s"):
			return true
		case !isOption(word) && !strings.HasPrefix(word, "+"):
			return standardInputs[word] || HasUnknown(word)
		}
	}
	return true
}

// renamed returns a copy of a statement in which programs have one name, or the statement itself if they have it.
func renamed(s *syntax.Stmt, nameOf func(word string) string) *syntax.Stmt {
	changed := *s
	switch command := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		x, y := renamed(command.X, nameOf), renamed(command.Y, nameOf)
		if x == command.X && y == command.Y {
			return s
		}
		list := *command
		list.X, list.Y, changed.Cmd = x, y, &list
	case *syntax.CallExpr:
		words := wordTexts(command, true)
		if len(words) == 0 {
			return s
		}
		named, _ := oneNames(words, nameOf)
		if slices.Equal(named, words) {
			return s
		}
		call := *command
		call.Args = slices.Clone(call.Args)
		for i, name := range named {
			if from := call.Args[i]; name != words[i] {
				call.Args[i] = &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{ValuePos: from.Pos(), ValueEnd: from.End(), Value: name}}}
			}
		}
		changed.Cmd = &call
	default:
		return s
	}
	return &changed
}

// NamedGlobs returns the globs for the commands of a glob by one name for each program, by which [Command.Parts] has
// them as well. It returns none for a glob that is not one command.
func NamedGlobs(glob string) (globs []string) {
	command, err := Read(glob)
	if err != nil || len(command.file.Stmts) != 1 {
		return nil
	}
	for _, star := range []string{"", FurtherWords} {
		nameOf := func(word string) string { return oneGlobName(word, star) }
		named, plain := namedStages(stages(command.file.Stmts[0]), nameOf)
		if !plain || strings.ContainsAny(glob, "(){}") {
			named = printed(renamed(command.file.Stmts[0], nameOf))
		}
		if named != "" && !slices.Contains(globs, named) {
			globs = append(globs, named)
		}
	}
	return globs
}

// FurtherWords at the end of a glob for a command are none or more words.
const FurtherWords = " **"

// namedStages returns the glob for a pipe, or for one command. It returns false if it has more than words.
func namedStages(all []*syntax.Stmt, nameOf func(word string) string) (glob string, plain bool) {
	texts := make([]string, len(all))
	for i, stage := range all {
		call, calls := stage.Cmd.(*syntax.CallExpr)
		if !calls || len(call.Args) == 0 || len(call.Assigns) > 0 || len(stage.Redirs) > 0 || stage.Background || stage.Negated {
			return "", false
		}
		texts[i] = strings.Join(oneCommand(wordTexts(call, false), nameOf), " ")
	}
	return strings.Join(texts, " | "), true
}
