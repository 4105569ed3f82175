//go:build faults

package crash

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// workerVariable makes the test program an attached worker of the named service, so that the worker
// is a separate process to kill.
const workerVariable = "HOLDPOINT_CRASH_WORKER"

// workerSteps are the life of an attached worker: it raises two prompts side by side, gets the
// two decisions one by one, and completes its run.
var workerSteps = []struct {
	name string
	do   step
}{
	{"claim", claimedByID(shortLeaseMs, handed{})},
	{"raise the first prompt", suspend(prompt("ask-1"))},
	{"raise the second prompt", suspend(prompt("ask-2"))},
	{"receive the first decision", received("0", "1")},
	{"receive the second decision", received("1", "2")},
	{"complete", complete},
}

func prompt(id string) *api.Suspension {
	suspension := attached(rig.Approvals(id))
	suspension.SuspensionID = "suspension-" + id
	return suspension
}

// received waits for the next decision.
func received(after, next string) step {
	return func(t *trial) error {
		settled, err := t.client.AwaitSettled(t.ctx, t.runID, t.fence, after, rig.Patience/2)
		if err == nil && (len(settled.Settled) != 1 || settled.After != next) {
			err = fmt.Errorf("after %s received %s up to %s", after, settled.Settled, settled.After)
		}
		return err
	}
}

// workerMain takes a step for each input line, and prints a line with the result. The first line is
// the run's id.
func workerMain(url string, in io.Reader, out *os.File) int {
	lines := bufio.NewScanner(in)
	if !lines.Scan() {
		return 2
	}
	c, err := client.New(url, client.WithRetry(client.RetryPolicy{MaxAttempts: 1}))
	if err != nil {
		return 2
	}
	defer c.Close()
	a := &trial{ctx: context.Background(), client: c, runID: lines.Text()}
	for _, next := range workerSteps {
		if !lines.Scan() {
			return 2
		}
		fmt.Fprintln(out, said(next.name, next.do(a)))
	}
	return 0
}

// said is a worker's line about a step.
func said(name string, err error) string {
	if err != nil {
		return strings.ReplaceAll("failed to "+name+": "+err.Error(), "\n", " ")
	}
	return name
}

var errGone = errors.New("the worker has ended")
