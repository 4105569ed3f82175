//go:build faults

package handover

import (
	"testing"

	"github.com/holdpoint/holdpoint/test/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
