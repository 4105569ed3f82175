package console

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/holdpoint/holdpoint/prompt"
)

// Program returns the command that a person types to run this program.
var Program = sync.OnceValue(func() string {
	self, err := os.Executable()
	if err != nil {
		return "holdpoint"
	}
	if found, err := exec.LookPath("holdpoint"); err == nil {
		if onPath, err := filepath.EvalSymlinks(found); err == nil && onPath == self {
			return "holdpoint"
		}
	}
	if strings.Contains(self, "go-build") {
		return "go run ./cmd/holdpoint"
	}
	return prompt.QuoteArgument(self)
})
