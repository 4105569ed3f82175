package operate

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/prompt"
)

// allowEdited allows a request with an input that the person edits first. It shows the
// changes and asks; the service validates the input against the request's schema.
func (c *approvalsAllow) allowEdited(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		if err := c.splitIDs(ctx, opened); err != nil {
			return err
		}
		if len(c.IDs) != 1 {
			return console.Usage("--edit is for one request")
		}
		item, _, err := c.approval(ctx, opened, c.IDs[0])
		if err != nil {
			return err
		}
		c.SessionID, c.RunID, c.IDs = item.SessionID, item.RunID, []string{item.Request.ID}
		prompter := console.NewPrompter(terminal)
		edited, changes, err := editInput(ctx, terminal, prompter, &item.Request)
		prompter.Close()
		if err != nil {
			return err
		}
		if err := confirm(terminal, c.Yes, "The input is changed:\n"+changes, "Allow the edited input? [y/N] ", "nothing was decided"); err != nil {
			return err
		}
		resolution := boundTo(api.ApprovalResolution{
			Behavior: api.BehaviorAllow, UpdatedInput: edited, Justification: c.Justification, InputDigest: c.InputDigest,
		}, &item.Request)
		return c.decideOne(ctx, terminal, opened, item.Request.ID, "allowed", resolution)
	})
}

// editInput lets the person edit the input until it is valid JSON. It returns the input
// with its changed lines, printable. An unchanged input is a usage error.
func editInput(ctx context.Context, terminal *console.Console, prompter *console.Prompter, request *api.ApprovalRequest) (edited api.JSON, changes string, err error) {
	before := prompt.Indented(request.Input) + "\n"
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
		editor := exec.CommandContext(ctx, "/bin/sh", "-c", terminal.Editor+` "$1"`, "sh", path)
		editor.Stdin, editor.Stdout, editor.Stderr = terminal.Stdin, terminal.Stderr, terminal.Stderr
		if err := editor.Run(); err != nil {
			return nil, "", fmt.Errorf("the editor %s: %w", terminal.Editor, err)
		}
		after, err := os.ReadFile(path)
		if err != nil {
			return nil, "", fmt.Errorf("read what was edited: %w", err)
		}
		if value := jsontext.Value(after); value.IsValid(jsontext.AllowDuplicateNames(false)) {
			shown := changedLines(before, strings.TrimRight(prompt.Indented(api.JSON(after)), "\n")+"\n")
			if shown == "" {
				return nil, "", console.Usage("nothing was changed, so nothing was decided; to allow the input unchanged, omit --edit")
			}
			return api.JSON(after), shown, nil
		}
		terminal.Say("invalid JSON")
		if line, err := prompter.Line("Edit again? [Y/n] "); err != nil || strings.HasPrefix(strings.ToLower(line), "n") {
			return nil, "", console.Usage("nothing was decided")
		}
	}
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
		shown.WriteString("  - " + console.Printable(line, false) + "\n")
	}
	for _, line := range is {
		shown.WriteString("  + " + console.Printable(line, false) + "\n")
	}
	return strings.TrimRight(shown.String(), "\n")
}
