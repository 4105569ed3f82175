package agent

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// versionTime is how long an agent may take to print its version.
const versionTime = 10 * time.Second

// versionNumber is the first version in what an agent prints.
var versionNumber = regexp.MustCompile(`\b(\d{1,6})\.(\d{1,6})\.(\d{1,6})\b`)

// numbers returns the three numbers of the first version in a text; nil without one.
func numbers(text string) (found []int) {
	for i, digits := range versionNumber.FindStringSubmatch(text) {
		if number, err := strconv.Atoi(digits); i > 0 && err == nil {
			found = append(found, number)
		}
	}
	return found
}

// misfit asks the installed agent for its version. It returns what a person should know before they
// rely on the hook: that the version is older than the oldest that was tried, or is not known. It
// returns "" when the hook is known to work.
func (a *codingAgent) misfit(ctx context.Context) string {
	if a.tried == "" {
		return fmt.Sprintf("no version of %s was tried with this hook: try a call that must be denied", a.name)
	}
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	asked := exec.CommandContext(ctx, a.program, "--version")
	asked.WaitDelay = time.Second // of what it has started and left behind
	printed, err := asked.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Sprintf("%s is not on the PATH, so its version is not known: the hook was tried with %s", a.program, a.tried)
	}
	version := versionNumber.FindString(string(printed[:min(len(printed), 1<<10)]))
	switch {
	case err != nil || version == "":
		return fmt.Sprintf("%s --version names no version: the hook was tried with %s", a.program, a.tried)
	case slices.Compare(numbers(version), numbers(a.tried)) >= 0:
		return ""
	case a.older != "":
		return fmt.Sprintf("%s %s is older than %s, with which the hook was tried: %s", a.name, version, a.tried, a.older)
	default:
		return fmt.Sprintf("%s %s is older than %s, with which the hook was tried: try a call that must be denied", a.name, version, a.tried)
	}
}
