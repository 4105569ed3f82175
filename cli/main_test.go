package cli_test

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/holdpoint/holdpoint/test/rig"
)

// Scripts start the program some 700 times. As this test binary, with what only tests link, each start would
// take several times as long.
func TestMain(m *testing.M) {
	rig.ManyAtOnce()
	if signal.Ignored(syscall.SIGHUP) {
		// Otherwise programs started by scripts under nohup would ignore SIGHUP, too.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	rig.OnPath()
	rig.Main(m)
}
