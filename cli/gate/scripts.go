package gate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// interpreter is a program that runs a file among its arguments. Its texts are letters of short options.
type interpreter struct {
	// code has options whose value is the code itself.
	code string
	// rest has options whose value is the rest of the word, or the next word.
	rest string
	// alone has options without a value.
	alone string
	// subcommands: the first word may be a subcommand.
	subcommands bool
	// words: a hyphen begins one option, as in -NoProfile, that may be abbreviated.
	words bool
	// plus: options may begin with a plus sign.
	plus bool
}

var (
	shell  = interpreter{code: "c", alone: "abefhiklmnprstuvxBCEHPT", plus: true}
	ksh    = interpreter{code: "c", alone: "abefhikmnprstuvxC", plus: true}
	python = interpreter{code: "c", rest: "WXm", alone: "bBdEhiIOPqRsSuvVx"}
	node   = interpreter{code: "ep", alone: "chiv"}
)

// interpreters have the names of programs without a version suffix.
var interpreters = map[string]interpreter{
	"sh": shell, "bash": shell, "dash": shell, "zsh": shell, "ksh": ksh, "fish": {code: "c", alone: "ilnNPv"}, "busybox": {code: "c", subcommands: true},
	"pwsh": {words: true}, "python": python, "pypy": python, "node": node, "nodejs": node,
	"bun": {code: "ep", subcommands: true}, "deno": {code: "ep", alone: "Aq", subcommands: true},
	"ruby": {code: "e", rest: "IrCKWEi", alone: "aclnpsSvwy"}, "perl": {code: "eE", rest: "IMmCDFx0i:", alone: "acflnpsStTuUvwWX"},
	"php": {code: "rBRE", rest: "dcz", alone: "aehilmnqsvwC"}, "lua": {code: "e", rest: "l", alone: "ivEW"},
	"tclsh": {}, "rscript": {code: "e"}, "osascript": {code: "e", rest: "ls", alone: "i"},
}

// codeWords are the options of pwsh whose value is the code itself, which may be abbreviated.
var codeWords = []string{"commandwithargs", "cwa", "encodedcommand", "ec"}

// carriers run the program among their arguments as it is.
var carriers = []string{"env", "sudo", "doas", "nice", "ionice", "nohup", "setsid", "stdbuf", "time", "timeout", "chrt", "taskset"}

// interpreterName returns the key of a program in interpreters, "" for other programs.
func interpreterName(program string) string {
	name := strings.TrimRight(strings.ToLower(strings.TrimSuffix(filepath.Base(program), ".exe")), "0123456789.-")
	if _, is := interpreters[name]; is {
		return name
	}
	return ""
}

// scriptsOf returns the files among which the script of an interpreter is, also behind a program that only
// starts it: its arguments that are files, up to the first that cannot be the value of an option. If exec
// compared only the first one, a new file with the name of such a value would hide the script. A script
// in the arguments themselves is shown as an argument. A directory or a FIFO in the place of a file counts,
// because an interpreter runs it, too.
func scriptsOf(argv []string, cwd, program string) (files []string) {
	name, arguments := interpreterName(argv[0]), argv[1:]
	if name == "" {
		name = interpreterName(program)
	}
	if at := slices.IndexFunc(arguments, func(word string) bool { return interpreterName(word) != "" }); name == "" && at >= 0 && slices.Contains(carriers, filepath.Base(argv[0])) {
		name, arguments = interpreterName(arguments[at]), arguments[at+1:]
	}
	if name == "" {
		return nil
	}
	of := interpreters[name]
	options, mayBeValue, mayBeSubcommand := true, false, of.subcommands
	for _, argument := range arguments {
		switch {
		case !options:
		case strings.HasPrefix(argument, "-") && argument != "-":
			if of.isCode(argument) {
				return files // such as sh -ec 'COMMAND'
			}
			options, mayBeValue = argument != "--", of.takesNext(argument)
			continue
		case of.plus && strings.HasPrefix(argument, "+"):
			mayBeValue = true
			continue
		}
		last := !mayBeValue && (!mayBeSubcommand || strings.ContainsAny(argument, `./\`))
		mayBeValue, mayBeSubcommand = false, mayBeSubcommand && mayBeValue
		if !filepath.IsAbs(argument) {
			argument = filepath.Join(cwd, argument)
		}
		if _, err := os.Stat(argument); err != nil {
			continue
		}
		if files = append(files, argument); last {
			return files
		}
	}
	return files
}

// isCode reports whether an option is followed by code, or has it.
func (i *interpreter) isCode(option string) bool {
	if i.words {
		word := strings.ToLower(strings.TrimLeft(option, "-"))
		return word != "" && slices.ContainsFunc(codeWords, func(one string) bool { return strings.HasPrefix(one, word) })
	}
	if strings.HasPrefix(option, "--") {
		return false
	}
	for _, letter := range option[1:] {
		switch {
		case strings.ContainsRune(i.code, letter):
			return true
		case strings.ContainsRune(i.rest, letter):
			return false
		}
	}
	return false
}

// takesNext reports whether the word after an option may be its value. It may after an unknown option.
func (i *interpreter) takesNext(option string) bool {
	if strings.HasPrefix(option, "--") {
		return option != "--" && !strings.Contains(option, "=")
	}
	letters := option[1:]
	for at, letter := range letters {
		switch {
		case strings.ContainsRune(i.rest, letter):
			return at == len(letters)-1
		case !strings.ContainsRune(i.alone, letter):
			return true
		}
	}
	return false
}
