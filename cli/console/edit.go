package console

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/prompt"
)

// EditInput lets the person edit a request's input until it is valid JSON. It returns the input
// with its changed lines, printable. An unchanged input is a usage error.
func (c *Console) EditInput(ctx context.Context, prompter *Prompter, input api.JSON) (edited api.JSON, changes string, err error) {
	before := prompt.Indented(input) + "\n"
	directory, err := os.MkdirTemp("", "holdpoint-edit-*")
	if err != nil {
		return nil, "", fmt.Errorf("make a file to edit: %w", err)
	}
	defer func() { _ = os.RemoveAll(directory) }() // only a copy
	path := filepath.Join(directory, "input.json")
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		return nil, "", fmt.Errorf("make a file to edit: %w", err)
	}
	for {
		// The variable may have arguments, as in "code --wait".
		editor := exec.CommandContext(ctx, "/bin/sh", "-c", c.Editor+` "$1"`, "sh", path)
		editor.Stdin, editor.Stdout, editor.Stderr = c.Stdin, c.Stderr, c.Stderr
		// The terminal sends Ctrl-C to both. The editor handles it, and must not lose its terminal to a shell.
		_, stop := Notify(os.Interrupt, syscall.SIGQUIT)
		err := editor.Run()
		stop()
		if err != nil {
			return nil, "", fmt.Errorf("the editor %s: %w", c.Editor, err)
		}
		after, err := os.ReadFile(path)
		if err != nil {
			return nil, "", fmt.Errorf("read what was edited: %w", err)
		}
		if value := jsontext.Value(after); value.IsValid(jsontext.AllowDuplicateNames(false)) {
			shown := changedLines(before, strings.TrimRight(prompt.Indented(api.JSON(after)), "\n")+"\n")
			if shown == "" {
				return nil, "", Usage("nothing was changed, so nothing was decided")
			}
			return api.JSON(after), shown, nil
		}
		c.Say("invalid JSON")
		if line, err := prompter.Line("Edit again? [Y/n] "); err != nil || strings.HasPrefix(strings.ToLower(line), "n") {
			return nil, "", Usage("nothing was decided")
		}
	}
}

// ConfirmedEdit is EditInput, and then shows the changes and asks whether to allow them. No is a usage error.
func (c *Console) ConfirmedEdit(ctx context.Context, prompter *Prompter, input api.JSON) (api.JSON, error) {
	edited, changes, err := c.EditInput(ctx, prompter, input)
	if err != nil {
		return nil, err
	}
	c.Say("The input is changed:\n%s", changes)
	line, err := prompter.Line("Allow the edited input? [y/N] ")
	if err != nil || !strings.HasPrefix(strings.ToLower(line), "y") {
		return nil, Usage("nothing was decided")
	}
	return edited, nil
}

// changedLines returns the removed and added lines, printable, without the unchanged lines
// before and after them; "" if nothing changed.
func changedLines(before, after string) string {
	if before == after {
		return ""
	}
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	for len(was) > 0 && len(is) > 0 && was[0] == is[0] {
		was, is = was[1:], is[1:]
	}
	for len(was) > 0 && len(is) > 0 && was[len(was)-1] == is[len(is)-1] {
		was, is = was[:len(was)-1], is[:len(is)-1]
	}
	var shown strings.Builder
	for _, line := range was {
		shown.WriteString("  - " + Printable(line, false) + "\n")
	}
	for _, line := range is {
		shown.WriteString("  + " + Printable(line, false) + "\n")
	}
	return strings.TrimRight(shown.String(), "\n")
}
