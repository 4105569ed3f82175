//go:build unix && agents

package sdk

import (
	"testing"

	"github.com/holdpoint/holdpoint/test/rig"
)

func TestMain(m *testing.M) { rig.Main(m, removeProjects) }
