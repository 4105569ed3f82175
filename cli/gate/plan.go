package gate

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/prompt"
)

// plan is the approved command.
type plan struct {
	argv   []string
	cwd    string
	env    map[string]string
	edited bool
	// bound is what the command resolved to when it was approved; nil if an edit changed
	// the program.
	bound *resolved
	// shown has the arguments as the request has them, if the edit changed them.
	shown []string
	// without has the variables that were shown and that the edit removed.
	without []string
	// sameCwd reports that the directory was not edited.
	sameCwd bool
}

func (p plan) line() string { return prompt.QuoteLine(p.argv) }

// planOf returns the command to run: as shown, or as edited by the person who approved it.
// An edited argv wins; a line that was edited alone is run by the shell.
func planOf(settled api.SettledApproval) (plan, error) {
	var shown, updated callInput
	if err := json.Unmarshal(settled.Request.Input, &shown); err != nil || len(shown.Argv) == 0 {
		return plan{}, fmt.Errorf("request %s does not hold a command", settled.Request.ID)
	}
	approved := plan{argv: shown.Argv, cwd: shown.Cwd, env: shown.Env, bound: shown.Resolved, sameCwd: true}
	if settled.Resolution.UpdatedInput == nil {
		return approved, nil
	}
	if err := json.Unmarshal(settled.Resolution.UpdatedInput, &updated); err != nil {
		return plan{}, fmt.Errorf("the edited input of request %s does not hold a command: %w", settled.Request.ID, err)
	}
	if updated.Resolved != nil && !reflect.DeepEqual(updated.Resolved, shown.Resolved) || updated.Variables != nil && !maps.Equal(updated.Variables, shown.Variables) {
		return plan{}, fmt.Errorf("the edited input of request %s changes resolved or variables, which describe this machine", settled.Request.ID)
	}
	line := strings.TrimSpace(updated.Command)
	switch {
	case len(updated.Argv) > 0 && !slices.Equal(updated.Argv, shown.Argv):
		approved.argv, approved.shown, approved.edited = updated.Argv, shown.Argv, true
		if updated.Argv[0] != shown.Argv[0] {
			approved.bound = nil
		}
	case line != "" && line != strings.TrimSpace(shown.Command):
		approved.argv, approved.edited = []string{"/bin/sh", "-c", updated.Command}, true
		approved.bound = nil
	}
	if updated.Cwd != "" && updated.Cwd != shown.Cwd {
		approved.cwd, approved.edited = updated.Cwd, true
		approved.bound, approved.sameCwd = nil, false
	}
	if !maps.Equal(updated.Env, shown.Env) {
		approved.env, approved.edited = updated.Env, true
	}
	for _, name := range slices.Sorted(maps.Keys(shown.Env)) {
		if _, kept := approved.env[name]; !kept {
			approved.without = append(approved.without, name)
		}
	}
	if _, has := approved.env[console.TokenVariable]; has {
		return plan{}, fmt.Errorf("the edited input of request %s sets %s", settled.Request.ID, console.TokenVariable)
	}
	return approved, nil
}

// compare returns a changedError for the first file that is not the approved one. Edited
// arguments were not resolved when they were approved. If they still name a script, it is
// the approved one if the shown arguments still resolve to what they did.
func (p plan) compare(now resolved) error {
	approved := *p.bound
	if p.shown != nil {
		named := scriptsOf(p.argv, p.cwd, now.Program.Path)
		if slices.ContainsFunc(scriptsOf(p.shown, p.cwd, now.Program.Path), func(script string) bool { return slices.Contains(named, script) }) {
			shown, err := resolve(p.shown, p.cwd)
			if err != nil && now.Program.Path != "" { // otherwise the program is reported below
				return err
			}
			now.Script, now.OtherScripts = shown.Script, shown.OtherScripts
		} else {
			approved, now = approved.withoutScripts(), now.withoutScripts()
		}
	}
	return approved.compare(now, p.argv[0])
}
