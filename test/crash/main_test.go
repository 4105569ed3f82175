//go:build faults

package crash

import (
	"os"
	"testing"

	"github.com/holdpoint/holdpoint/test/rig"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(workerVariable); url != "" {
		os.Exit(workerMain(url, os.Stdin, os.Stdout))
	}
	rig.Main(m)
}
