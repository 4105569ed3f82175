package cli

import (
	"fmt"
	"runtime"

	"github.com/holdpoint/holdpoint/cli/console"
)

type versionCommand struct{}

// Run prints one line.
func (c *versionCommand) Run(terminal *console.Console) error {
	fmt.Fprintf(terminal.Stdout, "holdpoint %s (%s %s/%s)\n", console.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
