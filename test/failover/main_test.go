//go:build unix

package failover

import (
	"os"
	"testing"

	"github.com/holdpoint/holdpoint/test/rig"
)

func TestMain(m *testing.M) {
	code := m.Run()
	rig.RemovePrograms()
	os.Exit(code)
}
