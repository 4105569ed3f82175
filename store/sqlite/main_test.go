package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// helperVariable turns the test binary into another process that opens a database file.
const helperVariable = "HOLDPOINT_TEST_SQLITE_FILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(helperVariable); path != "" {
		if err := help(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// help opens the file and creates sessions, reporting each, until it is killed or its input
// ends.
func help(path string) error {
	ctx := context.Background()
	store, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	for n := 0; ; n++ {
		sessionID := fmt.Sprintf("s-%06d", n)
		if _, err := store.Do(ctx, &runs.CreateRun{SessionID: sessionID, SessionGiven: true, Input: api.JSON(`1`)}); err != nil {
			return err
		}
		fmt.Fprintln(out, sessionID)
		if err := out.Flush(); err != nil {
			return err
		}
	}
}
