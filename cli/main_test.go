package cli_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/cli"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/read"
	"github.com/holdpoint/holdpoint/test/rig"
)

func TestMain(m *testing.M) {
	rig.ManyAtOnce()
	read.Timeout = time.Minute
	testscript.Main(leakChecked{postgrestest.Wrap(m)}, map[string]func(){
		"holdpoint": func() {
			os.Exit(cli.Run(context.Background(), os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr))
		},
	})
}

// leakChecked fails if tests that run the program in this process leave goroutines behind.
type leakChecked struct{ testscript.TestingM }

func (m leakChecked) Run() int {
	if signal.Ignored(syscall.SIGHUP) {
		// Otherwise programs started by scripts under nohup would ignore SIGHUP, too.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	code := m.TestingM.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}
