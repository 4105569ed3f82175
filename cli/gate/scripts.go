package gate

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// interpreter is a program that runs a file among its arguments. Its texts are letters of short options.
type interpreter struct {
	// code has options whose value is the code itself.
	code string
	// file has options whose value is the script.
	file string
	// rest has options whose value is the rest of the word, or the next word.
	rest string
	// own has options whose value is only the rest of the word.
	own string
	// each has options that take one of the next words each: as many as there are letters.
	each string
	// alone has options without a value.
	alone string
	// subcommands: the first word may be a subcommand.
	subcommands bool
	// words: a hyphen begins one option, as in -NoProfile, that may be abbreviated.
	words bool
	// plus: options may begin with a plus sign.
	plus bool
	// long has long options that may have a single hyphen.
	long []string
	// switches begin the names of long options without a value.
	switches []string
}

var (
	bash = interpreter{
		code: "c", each: "oO", alone: "abefhiklmnprstuvxBCDEHPT", plus: true,
		long:     []string{"init-file", "login", "noediting", "noprofile", "norc", "posix", "rcfile", "restricted", "verbose"},
		switches: []string{"login", "no", "posix", "restricted", "verbose"},
	}
	zsh    = interpreter{code: "c", rest: "o", alone: "abefhiklmnprstuvxBCDEHPT", plus: true}
	ksh    = interpreter{code: "c", rest: "o", alone: "abefhikmnprstuvxC", plus: true}
	python = interpreter{code: "c", rest: "WXm", alone: "bBdEhiIOPqRsSuvVx"}
	node   = interpreter{code: "ep", alone: "chiv", switches: []string{"enable-", "no-"}}
)

// interpreters have the names of programs without a version suffix.
var interpreters = map[string]interpreter{
	"sh": bash, "bash": bash, "dash": bash, "zsh": zsh, "ksh": ksh, "fish": {code: "c", alone: "ilnNPv"},
	"busybox": {code: "c", each: "o", alone: "aefhilmnqsuvxCEI", subcommands: true, plus: true}, "pwsh": {words: true, switches: []string{"login", "mta", "no", "sta"}},
	"python": python, "pypy": python, "node": node, "nodejs": node,
	"bun":  {code: "ep", subcommands: true},
	"deno": {code: "ep", alone: "Aq", subcommands: true, switches: []string{"allow-", "deny-", "no-"}},
	"ruby": {code: "e", rest: "IrCE", own: "FKWi", alone: "aclnpsSvwy"}, "perl": {code: "eE", rest: "I", own: "MmCDFx0i:", alone: "acflnpsStTuUvwWX"},
	"php": {code: "r", file: "fF", rest: "dczBRE", alone: "aehilmnqsvwC"}, "lua": {rest: "el", alone: "ivEW"},
	"tclsh": {}, "rscript": {code: "e", switches: []string{"no-", "vanilla"}}, "osascript": {code: "e", rest: "ls", alone: "i"},
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
	if name == "" && carries(argv[0]) {
		at := slices.IndexFunc(arguments, func(word string) bool { return interpreterName(word) != "" })
		if at < 0 {
			files, _ = carriedBy(arguments, cwd)
			return files
		}
		var found bool
		if files, found = carriedBy(arguments[:at], cwd); found {
			return files
		}
		own, _ := carriedBy(arguments[at:at+1], cwd)
		files, name, arguments = append(files, own...), interpreterName(arguments[at]), arguments[at+1:]
	}
	if name == "" {
		return nil
	}
	of := interpreters[name]
	// values counts the next words that may be values of options. If a value may have been the hyphens that end
	// the options, a later word with a hyphen is an option or the script.
	options, mayBeOver, values, mayBeSubcommand := true, false, 0, of.subcommands
	for _, argument := range arguments {
		option := options && (strings.HasPrefix(argument, "-") || of.plus && strings.HasPrefix(argument, "+"))
		if script := of.scriptIn(argument); script != "" && option && values == 0 {
			argument, option = script, false
		}
		path := inDirectory(argument, cwd)
		if _, err := os.Stat(path); err == nil && (!option || values > 0 || mayBeOver) {
			files = append(files, path)
			if !option && values == 0 && (!mayBeSubcommand || strings.ContainsAny(argument, `./\`)) {
				return files
			}
		}
		switch {
		case option && (argument == "-" || argument == "--"):
			options = values > 0
			mayBeOver, values = options, max(values-1, 0)
		case option && values == 0 && of.isCode(argument):
			return files // such as sh -ec 'COMMAND'
		case option && values == 0 && of.isFile(argument):
			options, mayBeOver = false, false
		case option:
			values = max(values-1, of.valuesOf(argument))
		default:
			mayBeSubcommand, values = mayBeSubcommand && values > 0, max(values-1, 0)
		}
	}
	return files
}

// carries reports whether a program runs the one among its arguments as it is.
func carries(program string) bool { return slices.Contains(carriers, filepath.Base(program)) }

// notProgram are arguments of a carrier that are neither options nor the program: variables, times, priorities and masks.
var notProgram = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*=.*|[0-9][0-9a-fx.,-]*[smhd]?)$`)

// carriedBy returns the files among which the program behind carriers is, and carriers with a path: a path behind an
// option may be the value of that option. found reports that the last file is the program. A program without a path is
// not looked up, because sudo has a PATH of its own.
func carriedBy(arguments []string, cwd string) (files []string, found bool) {
	mayBeValue := false
	for _, argument := range arguments {
		option := strings.HasPrefix(argument, "-")
		switch path := inDirectory(argument, cwd); {
		case option || notProgram.MatchString(argument):
		case strings.ContainsRune(argument, filepath.Separator) && executable(path):
			if files = append(files, path); !mayBeValue && !carries(argument) {
				return files, true
			}
		case !mayBeValue && !carries(argument):
			return files, false
		}
		mayBeValue = option && argument != "--"
	}
	return files, false
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// inDirectory returns the path that an argument is for a program in a directory.
func inDirectory(argument, directory string) string {
	if filepath.IsAbs(argument) {
		return argument
	}
	return filepath.Join(directory, argument)
}

// isCode reports whether an option is followed by code, or has it.
func (i *interpreter) isCode(option string) bool {
	if i.words {
		return abbreviates(option, codeWords...)
	}
	if i.isLong(option) || strings.HasPrefix(option, "+") {
		return false
	}
	for _, letter := range option[1:] {
		switch {
		case strings.ContainsRune(i.code, letter):
			return true
		case strings.ContainsRune(i.rest+i.own, letter):
			return false
		}
	}
	return false
}

func abbreviates(option string, words ...string) bool {
	word := strings.ToLower(strings.TrimLeft(option, "-"))
	return word != "" && slices.ContainsFunc(words, func(one string) bool { return strings.HasPrefix(one, word) })
}

// isFile reports whether an option is followed by the script.
func (i *interpreter) isFile(option string) bool {
	if i.words {
		return abbreviates(option, "file")
	}
	letters := strings.TrimLeft(option[1:], i.alone)
	return len(letters) == 1 && strings.Contains(i.file, letters)
}

// scriptIn returns the script that is the rest of an option, as in -fFILE.
func (i *interpreter) scriptIn(option string) string {
	letters := strings.TrimLeft(strings.TrimPrefix(option, "-"), i.alone)
	if len(letters) > 1 && strings.ContainsRune(i.file, rune(letters[0])) {
		return letters[1:]
	}
	return ""
}

// isLong reports whether an option is a word instead of letters.
func (i *interpreter) isLong(option string) bool {
	return strings.HasPrefix(option, "--") || i.words || slices.Contains(i.long, option[1:])
}

// valuesOf returns how many words after an option may be its values. An unknown option may have one.
func (i *interpreter) valuesOf(option string) (words int) {
	if i.isLong(option) {
		name := strings.ToLower(strings.TrimLeft(option, "-"))
		if strings.Contains(name, "=") || slices.ContainsFunc(i.switches, func(one string) bool { return strings.HasPrefix(name, one) }) {
			return 0
		}
		return 1
	}
	letters, unknown := option[1:], 0
	for at, letter := range letters {
		switch {
		case strings.ContainsRune(i.each, letter):
			words++
		case strings.ContainsRune(i.rest+i.own, letter):
			if at == len(letters)-1 && !strings.ContainsRune(i.own, letter) {
				words++
			}
			return max(words, unknown)
		case !strings.ContainsRune(i.alone, letter):
			unknown = 1
		}
	}
	return words + unknown
}
