//go:build unix && faults

package neighbours

import (
	"fmt"
	"os"
	"testing"

	"github.com/holdpoint/holdpoint/test/rig"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(attackVariable); name != "" {
		if err := runAttacker(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	rig.Main(m)
}
