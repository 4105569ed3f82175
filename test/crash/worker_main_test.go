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

// workerVariable makes the test program an attached worker of the service that it
// names, so that there is a process of its own to kill.
const workerVariable = "HOLDPOINT_CRASH_WORKER"

// step is one thing that an attached worker does.
type step struct {
	name string
	do   func(*attempt) error
}

// steps are the life of an attached worker: it raises two prompts side by side, gets
// the two decisions one by one, and completes its run.
var steps = []step{
	{"claim", func(a *attempt) error {
		claim, err := a.client.ClaimRun(a.ctx, a.runID, api.ClaimOptions{WorkerID: workerID, LeaseMs: shortLeaseMs})
		if err != nil {
			return err
		}
		return a.took(claim)
	}},
	{"raise the first prompt", func(a *attempt) error { return a.suspend(prompt("ask-1")) }},
	{"raise the second prompt", func(a *attempt) error { return a.suspend(prompt("ask-2")) }},
	{"receive the first decision", func(a *attempt) error { return a.receive("0", "1") }},
	{"receive the second decision", func(a *attempt) error { return a.receive("1", "2") }},
	{"complete", (*attempt).complete},
}

func prompt(id string) *api.Suspension {
	return &api.Suspension{SuspensionID: "suspension-" + id, Approvals: []api.ApprovalRequest{approval(id)}, Hold: true}
}

// receive waits for the next decision.
func (a *attempt) receive(after, next string) error {
	settled, err := a.client.AwaitSettled(a.ctx, a.runID, a.fence, after, rig.Patience/2)
	if err == nil && (len(settled.Settled) != 1 || settled.After != next) {
		err = fmt.Errorf("after %s received %s up to %s", after, settled.Settled, settled.After)
	}
	return err
}

// workerMain takes each step when a line comes in, and says in a line of its own
// that it has been taken, or why not. The first line is the run's id.
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
	a := &attempt{ctx: context.Background(), client: c, runID: lines.Text()}
	for _, next := range steps {
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
