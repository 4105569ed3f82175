//go:build unix && faults

package neighbours

import (
	"testing"

	"github.com/holdpoint/holdpoint/test/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
