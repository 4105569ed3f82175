package shellcmd

import (
	"regexp"
	"slices"
	"strings"
)

// oneShells are shells that run much the same text: a rule that refuses one of them refuses all.
var oneShells = WordSet("sh bash dash ash zsh fish csh tcsh ksh mksh yash rbash")

// versioned are programs whose name may have their version: python3.12.
var versioned = WordSet("python pip perl ruby php lua node")

// otherNames are programs with another name in some distributions. Every match of the one name has to be found
// by the letters of the other: the one name is a part of it.
var otherNames = map[string]string{
	"nodejs": "node", "yarnpkg": "yarn", "fdfind": "fd", "batcat": "bat", "mawk": "awk", "nawk": "awk",
	"docker-compose": "docker compose",
}

// gnu are programs that also have a "g" in front of their name.
var gnu = WordSet("rm cp mv chmod chown chgrp ln dd shred install tee cat tar sed awk grep find xargs make timeout nice env")

// OneName returns the name of the program that a word starts, the same for all names of one program.
func OneName(word string) string {
	name := programName(word)
	plain := strings.TrimRight(name, "-.0123456789")
	switch {
	case oneShells[plain]:
		return "sh"
	case versioned[plain]:
		return plain
	case otherNames[name] != "":
		return otherNames[name]
	case strings.HasPrefix(name, "g") && gnu[name[1:]]:
		return name[1:]
	}
	return name
}

// binFolders are the folders whose programs a rule may also mean by another name.
var binFolders = WordSet("/bin/ /usr/bin/ /usr/local/bin/ /opt/homebrew/bin/ /usr/sbin/ /sbin/")

// oneGlobName is OneName for a word of a glob. A star at its end becomes star. It returns other words unchanged.
func oneGlobName(word, star string) string {
	bare := strings.TrimRight(word, "*")
	name := programName(bare)
	if folder := bare[:strings.LastIndexByte(bare, '/')+1]; folder != "" && !binFolders[folder] || strings.ContainsAny(name, "*?") {
		return word
	}
	one := OneName(bare)
	switch {
	case one == name && !oneShells[one] && !versioned[one]:
		return word
	case bare != word:
		return one + star
	}
	return one
}

// maxWrappers and maxBehind bound the wrappers, and the words of each, that are looked behind.
const maxWrappers, maxBehind = 8, 64

// oneNames returns a command with one name for its program, and for the program that its wrappers run, which is at
// the returned place.
func oneNames(words []string, nameOf func(word string) string) (named []string, at int) {
	named = slices.Clone(words)
	named[0] = nameOf(words[0])
	for range maxWrappers {
		next := wrapped(words, at)
		if next < 0 {
			break
		}
		at = next
		named[at] = nameOf(words[at])
	}
	return named, at
}

var (
	// pythonModule is an option of Python with a module: alone, behind short options without a value, and with the module.
	pythonModule = regexp.MustCompile(`^-[A-VYZabd-ln-z?]*m(.*)$`)
	// pythonValue is an option of Python whose value is the next word.
	pythonValue = regexp.MustCompile(`^(-[A-VYZabd-ln-z?]*[WX]|--check-hash-based-pycs)$`)
)

// oneCommand returns the words of oneNames, in which a module that Python runs as a program is that program: pip for python -m pip.
func oneCommand(words []string, nameOf func(word string) string) []string {
	named, at := oneNames(words, nameOf)
	return withoutPython(withModule(named, at), at)
}

// namedForms returns a command by the one name of its program, with a module that Python runs as its only option, and with
// that module as the program. It leaves out forms that are the same.
func namedForms(words []string) (forms []string) {
	text := strings.Join(words, " ")
	named, at := oneNames(words, OneName)
	module := withModule(named, at)
	for _, form := range [][]string{named, module, withoutPython(module, at)} {
		if one := strings.Join(form, " "); one != text {
			forms = append(forms, one)
			text = one
		}
	}
	return forms
}

// withModule returns the words of oneNames with "-m module" as the only option of Python, and other words as they are.
func withModule(named []string, at int) []string {
	if named[at] != "python" {
		return named
	}
	for option := at + 1; option < len(named) && isOption(named[option]); option++ {
		if pythonValue.MatchString(named[option]) {
			option++
			continue
		}
		found := pythonModule.FindStringSubmatch(named[option])
		if found == nil {
			continue
		}
		module, behind := found[1], named[option+1:]
		if module == "" && len(behind) > 0 {
			module, behind = behind[0], behind[1:]
		}
		if module == "" {
			break
		}
		return slices.Concat(named[:at+1], []string{"-m", strings.TrimSuffix(module, ".__main__")}, behind)
	}
	return named
}

// withoutPython returns the words of withModule with the module as the program.
func withoutPython(named []string, at int) []string {
	module := at + 2
	if named[at] != "python" || module >= len(named) || named[at+1] != "-m" || strings.IndexAny(named[module], "*?") == 0 {
		return named // a wildcard of a glob would stand for any program
	}
	return slices.Concat(named[:at], named[module:])
}

// besides are words of a wrapper that are not the program that it runs: options, variables and times.
var besides = regexp.MustCompile(`^(-|[A-Za-z_][A-Za-z0-9_]*=|[0-9.]+[smhd]?$)`)

// wrapped returns the place of the program that a wrapper at another place runs, and -1 for none.
func wrapped(words []string, at int) int {
	if name := OneName(words[at]); !wrappers[name] || oneShells[name] {
		return -1
	}
	behind := words[at+1 : min(len(words), at+1+maxBehind)]
	next := slices.IndexFunc(behind, func(word string) bool {
		name := OneName(word)
		return oneShells[name] || interpreters[name]
	})
	if next < 0 {
		next = slices.IndexFunc(behind, func(word string) bool { return !besides.MatchString(word) })
	}
	if next < 0 {
		return -1
	}
	return at + 1 + next
}
