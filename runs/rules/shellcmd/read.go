// Package shellcmd parses shell commands: which of their bytes are plain words, and which
// commands they run. It runs and expands nothing.
package shellcmd

import (
	"errors"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// MaxLength bounds the length of parsed commands, in bytes.
const MaxLength = 64 << 10

// maxNested bounds the nesting in a command: brackets, quotes of substitutions and keywords. The
// parser recurses for each, and its time is quadratic.
const maxNested = 1000

// Errors of [Read].
var (
	errTooLong = errors.New("the command is too long")
	errNested  = errors.New("the command nests too deeply")
)

// Command is a parsed shell command.
type Command struct {
	text string
	file *syntax.File
}

// keywords are the words after which the parser recurses.
var keywords = wordSet("if then else elif while until for select case do function coproc time in [[")

// Read parses a command as bash, a superset of POSIX shells.
func Read(text string) (*Command, error) {
	if len(text) > MaxLength {
		return nil, errTooLong
	}
	nested := strings.Count(text, "(") + strings.Count(text, "{") + strings.Count(text, "[") + strings.Count(text, "`")
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(";&|()", r) }) {
		if keywords[word] {
			nested++
		}
	}
	if nested > maxNested {
		return nil, errNested
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, err
	}
	return &Command{text, file}, nil
}

func wordSet(lines ...string) map[string]bool {
	set := map[string]bool{}
	for _, line := range lines {
		for word := range strings.FieldsSeq(line) {
			set[word] = true
		}
	}
	return set
}

// shells run the text that they are given, or read, as a command.
var shells = wordSet("sh bash dash ash zsh fish csh tcsh ksh mksh yash rbash pwsh powershell cmd busybox toybox")

// wrappers run a program or a command that stands among their words.
var wrappers = wordSet(
	"sh bash dash ash zsh fish csh tcsh ksh mksh yash rbash pwsh powershell cmd busybox toybox",
	"eval exec source . command builtin trap alias noglob nocorrect repeat",
	"sudo sudoedit su doas pkexec runuser chroot nsenter unshare setpriv capsh gosu su-exec firejail bwrap fakeroot",
	"env nohup nice ionice chrt taskset time timeout watch xargs parallel setsid stdbuf unbuffer script screen tmux entr",
	"at batch find fd flock strace ltrace gdb valgrind perf systemd-run dbus-run-session xvfb-run ssh mosh rsh",
	"docker podman nerdctl kubectl oc lxc vagrant wsl caffeinate direnv dotenv npx bunx pnpx uvx",
)

// interpreters run the file, or the text, that their words name.
var interpreters = wordSet("python python2 python3 node deno bun ruby perl php lua java awk gawk sed osascript tclsh Rscript psql mysql sqlite3")

// RunsOthers reports whether a program may run another one, or a text, that its words name: a common
// beginning of two of its commands says little.
func RunsOthers(program string) bool {
	name := programName(program)
	return shells[name] || wrappers[name] || interpreters[name]
}

// joiners run all their words, joined, as one command.
var joiners = wordSet("eval ssh mosh rsh watch wsl cmd pwsh powershell")

// programName returns the name of the program that a word starts, without its folder.
func programName(word string) string {
	if at := strings.LastIndexAny(word, `/\`); at >= 0 {
		word = word[at+1:]
	}
	return strings.TrimSuffix(strings.ToLower(word), ".exe")
}
