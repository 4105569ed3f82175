//go:build unix && agents

package mcpsuite

import (
	"testing"

	"github.com/holdpoint/holdpoint/test/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
