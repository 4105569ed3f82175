package shellcmd

import (
	"slices"
	"strings"
)

const shellNames = "sh bash dash ash zsh fish csh tcsh ksh mksh yash rbash pwsh powershell cmd busybox toybox"

// shells run the text that they are given, or read, as a command.
var shells = WordSet(shellNames)

// wrappers run a program or a command that stands among their words.
var wrappers = WordSet(
	shellNames,
	"eval exec source . command builtin trap alias noglob nocorrect repeat",
	"sudo sudoedit su doas pkexec runuser runas start chroot nsenter unshare setpriv capsh gosu su-exec firejail bwrap fakeroot",
	"env nohup nice ionice chrt taskset time timeout watch xargs parallel setsid stdbuf unbuffer script screen tmux entr",
	"at batch find fd flock strace ltrace gdb valgrind perf systemd-run dbus-run-session xvfb-run ssh mosh rsh sshpass expect",
	"docker podman nerdctl kubectl oc lxc vagrant wsl caffeinate direnv dotenv npx bunx pnpx uvx",
	"nix-shell proxychains proxychains4 torsocks faketime prlimit numactl cgexec setarch start-stop-daemon rlwrap cross-env cross-env-shell concurrently hyperfine",
)

// interpreters run the file, or the text, that their words name.
var interpreters = WordSet("python python2 python3 node deno bun ruby perl php lua java awk gawk sed osascript tclsh rscript psql mysql sqlite3 nodejs pypy tsx ts-node")

// RunsOthers reports whether a program may run another one, or a text, that its words name: a common
// beginning of two of its commands says little.
func RunsOthers(program string) bool {
	name := programName(program)
	plain := strings.TrimRight(name, "0123456789.") // gdb12
	one, _, _ := strings.Cut(OneName(program), " ") // docker of docker-compose
	return slices.ContainsFunc([]string{name, plain, one}, func(name string) bool { return wrappers[name] || interpreters[name] })
}

// joiners run all their words, joined, as one command.
var joiners = WordSet("eval ssh mosh rsh watch wsl cmd pwsh powershell")

// optionsThatRun are the beginnings of options whose value is a program or a command.
var optionsThatRun = map[string][]string{
	"git":   {"--config-env", "--exec-path", "--upload-pack", "--receive-pack", "--exec", "--open-files-in-pager"},
	"tar":   {"--checkpoint-action", "--to-command", "--use-compress-program", "--rsh-command", "--info-script", "--new-volume-script", "-I", "-F"},
	"rsync": {"-e", "--rsh", "--rsync-path"},
	"ssh":   {"-o", "-F"}, "scp": {"-o", "-F", "-S"}, "sftp": {"-o", "-F", "-S"},
	"sort": {"--compress-program"}, "man": {"-P", "--pager"}, "zip": {"-TT", "--unzip-command"},
	"mapfile": {"-C"}, "readarray": {"-C"}, "complete": {"-C"}, "compgen": {"-C"},
	"go":   {"-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool"},
	"make": {"--eval", "-E", "SHELL=", "MAKEFLAGS="},
	"npm":  scriptShell, "pnpm": scriptShell, "yarn": scriptShell, "bun": {"--preload", "-r"},
	"cargo": {"--config"}, "bazel": {"--run_under", "--test_runner"}, "gradle": initScript, "gradlew": initScript,
	"gcc": wrapper, "g++": wrapper, "cc": wrapper, "c++": wrapper, "clang": {"-fplugin", "-B", "-fuse-ld"}, "clang++": {"-fplugin", "-B", "-fuse-ld"},
	"fd": {"-x", "-X", "--exec", "--exec-batch"},
	"rg": {"--pre", "--hostname-bin"}, "fzf": {"--bind", "--preview", "--with-shell"}, "split": {"--filter"},
	"wget": {"-e", "--execute", "--use-askpass", "--config"}, "curl": {"-K", "--config"}, "tcpdump": {"-z"},
}

var (
	scriptShell = []string{"--script-shell", "--node-options"}
	initScript  = []string{"-I", "--init-script"}
	wrapper     = []string{"-wrapper", "-fplugin", "-specs", "-B", "-fuse-ld"}
)

// programName returns the name of the program that a word starts, without its folder.
func programName(word string) string {
	if at := strings.LastIndexAny(word, `/\`); at >= 0 {
		word = word[at+1:]
	}
	return strings.TrimSuffix(strings.ToLower(word), ".exe")
}

// runsAnother reports whether the program has a subcommand that runs the program behind it.
func runsAnother(name string, words []string) bool {
	var verbs string
	switch name {
	case "npm", "yarn", "pnpm", "bun", "bundle", "mise", "rtx", "asdf", "aws-vault", "chamber":
		verbs = " exec x dlx "
	case "uv", "poetry", "pipenv", "pdm", "rye", "hatch", "pixi", "conda", "mamba", "micromamba", "op", "doppler", "infisical", "dotenvx", "pipx", "devbox", "flatpak":
		verbs = " run "
	case "nix":
		verbs = " run shell develop "
	case "git":
		verbs = " foreach run " // submodule foreach, bisect run
	default:
		return false
	}
	// Anywhere: which words are values of options is not known.
	return slices.ContainsFunc(words[1:], func(word string) bool { return strings.Contains(verbs, " "+word+" ") })
}

// twoDashes returns a word of a program that takes any number of dashes for two, with two. A letter behind one dash is a short option.
func twoDashes(name, word string) string {
	option := strings.TrimLeft(word, "-")
	if !isOption(word) || len(option) < 2 || !anyDashes[name] {
		return word
	}
	return "--" + option
}

var anyDashes = WordSet("npm pnpm yarn")

// optionRuns reports whether a word is an option by which the program runs another one, or the value
// of such an option.
func optionRuns(name string, words []string, at int) bool {
	word, before := twoDashes(name, words[at]), twoDashes(name, words[at-1])
	for _, option := range optionsThatRun[name] {
		if hasOption(word, option) || at > 1 && takesNext(before, option) {
			return true
		}
	}
	switch name {
	case "tar": // its first word may be options without a hyphen, whose values follow
		return words[1] != "" && words[1][0] != '-' && strings.ContainsAny(words[1], "IF")
	case "git":
		return gitOptionRuns(words, at)
	}
	return false
}

// gitOptionRuns is optionRuns for the options of git that differ between its subcommands.
func gitOptionRuns(words []string, at int) bool {
	// A setting of git may be a command. Behind the subcommand -c and -x are other options.
	verb := gitVerb(words)
	if at <= verb {
		return at < verb && (words[at] == "-c" || words[at-1] == "-c")
	}
	word, before := words[at], words[at-1]
	switch words[verb] {
	case "rebase", "difftool":
		return hasOption(word, "-x") || takesNext(before, "-x") || hasOption(word, "--extcmd") || takesNext(before, "--extcmd")
	case "grep":
		return bundles(word, "O")
	case "clone":
		return slices.ContainsFunc([]string{"-c", "-u", "--config"}, func(option string) bool { return hasOption(word, option) || takesNext(before, option) })
	case "send-email":
		return slices.ContainsFunc([]string{"--to-cmd", "--cc-cmd", "--header-cmd", "--sendmail-cmd", "--smtp-server"}, func(option string) bool {
			return hasOption(word, option) || takesNext(before, option)
		})
	case "filter-branch":
		return strings.HasPrefix(word, "--") || strings.HasSuffix(before, "-filter")
	case "bisect":
		return word == "run"
	case "submodule":
		return word == "foreach"
	case "config":
		return gitSets(words[verb+1:], at-verb-1)
	}
	return false
}

// gitReads are the first words of git config, behind the file, that change no setting.
var gitReads = WordSet("--get --get-all --get-regexp --get-urlmatch --list -l get list")

// gitConfigValues are the options of git config whose value is the next word.
var gitConfigValues = strings.Fields("-f --file --blob --type --default --comment --value --url")

// gitSets reports whether a word of git config is, or leads to, the name of a setting that it writes, or
// is a command as its value. What a setting runs depends on its name.
func gitSets(words []string, at int) bool {
	from := 0
	for from+2 < len(words) && (words[from] == "-f" || words[from] == "--file") {
		from += 2
	}
	if gitReads[words[from]] {
		return at < from
	}
	named := -1
	for i, word := range words {
		if isOption(word) || !strings.Contains(word, ".") {
			continue
		}
		named = i
		if value := i > 0 && slices.ContainsFunc(gitConfigValues, func(option string) bool { return takesNext(words[i-1], option) }); !value {
			break
		}
	}
	return at <= named || strings.HasPrefix(words[at], "!")
}

// hasOption reports whether a word has an option: alone, abbreviated, with its value, or a short one
// bundled with others.
func hasOption(word, option string) bool {
	return strings.HasPrefix(word, option) || abbreviates(word, option) || option[1] != '-' && bundles(word, option[1:])
}

// takesNext reports whether the value of an option is the word behind this one.
func takesNext(word, option string) bool {
	return !strings.Contains(word, "=") && (abbreviates(word, option) || strings.HasSuffix(word, option[1:]) && hasOption(word, option))
}

// bundles reports whether a word has the short option, alone, bundled with others ("-ix") or with its
// value ("-xmake").
func bundles(word, option string) bool {
	return len(word) > 1 && word[0] == '-' && word[1] != '-' && strings.Contains(word[1:], option)
}

// abbreviates reports whether a word is the beginning of a long option, which many programs accept.
func abbreviates(word, option string) bool {
	word, _, _ = strings.Cut(word, "=")
	return len(word) > len("--") && strings.HasPrefix(option, "--") && strings.HasPrefix(option, word)
}

// gitValues are the options before a subcommand of git whose value is the next word.
var gitValues = WordSet("-c -C --git-dir --work-tree --namespace --super-prefix --config-env --attr-source --shallow-file")

// gitVerb returns the place of the subcommand among the words of git.
func gitVerb(words []string) int {
	at := 1
	for at < len(words) && strings.HasPrefix(words[at], "-") {
		if gitValues[words[at]] {
			at++
		}
		at++
	}
	return at
}
