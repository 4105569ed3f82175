package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/holdpoint/holdpoint/cli/console"
)

// completionCommand prints a shell completion script for the commands and flags.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Help returns the text below the flags in --help.
func (c *completionCommand) Help() string {
	return `To install it:

  bash:  source <(holdpoint completion bash)
  zsh:   holdpoint completion zsh >"${fpath[1]}/_holdpoint"
  fish:  holdpoint completion fish >~/.config/fish/completions/holdpoint.fish`
}

// Run prints the script.
func (c *completionCommand) Run(app *kong.Kong, terminal *console.Console) error {
	write := map[string]func(io.Writer, []completed){"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
	write[c.Shell](terminal.Stdout, completedCommands(app.Model.Node, nil))
	return nil
}

// completed is a command with the words that may follow it.
type completed struct {
	path     []string
	commands []*kong.Node
	flags    []*kong.Flag
}

func completedCommands(node *kong.Node, path []string) []completed {
	one := completed{path: path}
	for _, flags := range node.AllFlags(true) {
		one.flags = append(one.flags, flags...)
	}
	for _, child := range node.Children {
		if !child.Hidden {
			one.commands = append(one.commands, child)
		}
	}
	all := []completed{one}
	for _, child := range one.commands {
		all = append(all, completedCommands(child, append(slices.Clone(path), child.Name))...)
	}
	return all
}

// typed returns the words of the command, each after a space.
func (c *completed) typed() string { return strings.Join(append([]string{""}, c.path...), " ") }

// words returns all words that may follow.
func (c *completed) words() []string {
	var words []string
	for _, command := range c.commands {
		words = append(words, command.Name)
	}
	for _, flag := range c.flags {
		words = append(words, "--"+flag.Name)
	}
	return words
}

func bashCompletion(to io.Writer, all []completed) {
	fmt.Fprint(to, `# Completion of holdpoint for bash.
_holdpoint() {
  local word path="" current="${COMP_WORDS[COMP_CWORD]}"
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in
      --) return ;;
      -*) ;;
      *) case "$path $word" in
`)
	var paths []string
	for _, one := range all[1:] {
		paths = append(paths, `"`+one.typed()+`"`)
	}
	fmt.Fprintf(to, "        %s) path=\"$path $word\" ;;\n", strings.Join(paths, "|"))
	fmt.Fprint(to, "      esac ;;\n    esac\n  done\n  case \"$path\" in\n")
	for _, one := range all {
		fmt.Fprintf(to, "    %q) COMPREPLY=($(compgen -W %q -- \"$current\")) ;;\n", one.typed(), strings.Join(one.words(), " "))
	}
	fmt.Fprint(to, "  esac\n}\ncomplete -o default -F _holdpoint holdpoint\n")
}

// zshCompletion works both as a file in fpath and when sourced.
func zshCompletion(to io.Writer, all []completed) {
	fmt.Fprint(to, `#compdef holdpoint
_holdpoint() {
  local word at=""
  local -a commands flags
  for word in "${(@)words[2,CURRENT-1]}"; do
    case "$word" in
      --) _normal; return ;;
      -*) ;;
      *) case "$at $word" in
`)
	for _, one := range all[1:] {
		fmt.Fprintf(to, "        %s) at=\"$at $word\" ;;\n", zshQuoted(one.typed()))
	}
	fmt.Fprint(to, "      esac ;;\n    esac\n  done\n  case \"$at\" in\n")
	for _, one := range all {
		fmt.Fprintf(to, "    %s)\n", zshQuoted(one.typed()))
		for _, command := range one.commands {
			fmt.Fprintf(to, "      commands+=(%s)\n", zshQuoted(command.Name+":"+command.Help))
		}
		for _, flag := range one.flags {
			fmt.Fprintf(to, "      flags+=(%s)\n", zshQuoted("--"+flag.Name+":"+flag.Help))
		}
		fmt.Fprint(to, "      ;;\n")
	}
	fmt.Fprint(to, `  esac
  if [[ "$words[CURRENT]" == -* ]]; then
    _describe -o flag flags
  elif (( $#commands )); then
    _describe command commands
  else
    _files
  fi
}
if [[ "$funcstack[1]" == _holdpoint ]]; then _holdpoint "$@"; else compdef _holdpoint holdpoint; fi
`)
}

func zshQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func fishCompletion(to io.Writer, all []completed) {
	fmt.Fprint(to, "# Completion of holdpoint for fish.\ncomplete -c holdpoint -f\n")
	for _, one := range all {
		condition := "__fish_use_subcommand"
		if len(one.path) > 0 {
			condition = "__fish_seen_subcommand_from " + strings.Join(one.path, "; and __fish_seen_subcommand_from ")
		}
		for _, command := range one.commands {
			fmt.Fprintf(to, "complete -c holdpoint -n %s -a %s -d %s\n", fishQuoted(condition), command.Name, fishQuoted(command.Help))
		}
		for _, flag := range one.flags {
			value := " -r"
			if flag.IsBool() {
				value = ""
			}
			fmt.Fprintf(to, "complete -c holdpoint -n %s -l %s%s -d %s\n", fishQuoted(condition), flag.Name, value, fishQuoted(flag.Help))
		}
	}
}

func fishQuoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// manCommand prints the manual page.
type manCommand struct{}

// Run prints the page of all commands.
func (c *manCommand) Run(app *kong.Kong, terminal *console.Console) error {
	to := terminal.Stdout
	fmt.Fprintf(to, ".TH HOLDPOINT 1 \"\" %q\n.SH NAME\nholdpoint \\- lets agents wait for people: durable approvals and questions\n", "holdpoint "+console.Version())
	fmt.Fprint(to, ".SH SYNOPSIS\n.B holdpoint\n.I COMMAND\n.SH COMMANDS\n")
	for _, one := range completedCommands(app.Model.Node, nil)[1:] {
		if len(one.commands) > 0 {
			continue
		}
		node := app.Model.Node
		for _, name := range one.path {
			node = node.Children[slices.IndexFunc(node.Children, func(child *kong.Node) bool { return child.Name == name })]
		}
		usage := strings.TrimPrefix(node.Summary(), strings.Join(one.path, " "))
		fmt.Fprintf(to, ".SS %s\n.B holdpoint %s\n%s\n.PP\n%s\n", roff(strings.Join(one.path, " ")), roff(strings.Join(one.path, " ")), roff(strings.TrimSpace(usage)), roff(node.Help))
		if node.Detail != "" {
			fmt.Fprintf(to, ".PP\n%s\n", roff(node.Detail))
		}
		for _, flag := range one.flags {
			fmt.Fprintf(to, ".TP\n.B %s\n%s\n", roff(flag.String()), roff(flag.Help))
		}
	}
	_, err := fmt.Fprintf(to, ".SH EXIT STATUS\n%s\n", roff(console.ExitCodesHelp))
	return err
}

// roff escapes text for a manual page.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
