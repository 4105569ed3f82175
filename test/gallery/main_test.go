package gallery

import (
	"testing"

	"github.com/holdpoint/holdpoint/test/rig"
)

func TestMain(m *testing.M) {
	rig.ManyAtOnce()
	rig.Main(m)
}
