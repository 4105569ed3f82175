//go:build unix && agents

package sdk

import (
	"os"
	ossignal "os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// untilASignal are workers whose handler waits for a person.
var untilASignal = map[string]string{
	"sync": `
import sys
from holdpoint import Holdpoint, Worker

with Holdpoint(sys.argv[1]) as service:
    service.create_run({"run_id": "run-1", "agent_id": "cleaner", "input": {}})
    Worker(service, agent_ids=["cleaner"]).run(lambda task: task.approve({"id": "remove", "tool_name": "rm", "input": task.input}))
print("ended in order")
`,
	"asyncio": `
import asyncio, signal, sys
from holdpoint import AsyncHoldpoint, AsyncWorker

async def main():
    async with AsyncHoldpoint(sys.argv[1]) as service:
        await service.create_run({"run_id": "run-1", "agent_id": "cleaner", "input": {}})
        worker = AsyncWorker(service, agent_ids=["cleaner"])
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, worker.stop)
        await worker.run(lambda task: task.approve({"id": "remove", "tool_name": "rm", "input": task.input}))

asyncio.run(main())
print("ended in order")
`,
}

const untilASecondSignal = `
import sys, time
from holdpoint import Holdpoint, HoldpointError, Worker

def clean(task):
    try:
        task.approve({"id": "remove", "tool_name": "rm", "input": task.input})
    except HoldpointError:
        task.output("draining")
        while not task.stopped:
            time.sleep(0.01)
        raise

with Holdpoint(sys.argv[1]) as service:
    service.create_run({"run_id": "run-1", "agent_id": "cleaner", "input": {}})
    Worker(service, agent_ids=["cleaner"], drain_seconds=600).run(clean)
`

// TestASecondSignalEndsTheDrainOfAPythonWorker: its handlers see that they are stopped, and their runs are released.
func TestASecondSignalEndsTheDrainOfAPythonWorker(t *testing.T) {
	python := needPython(t)
	catchInterrupts(t)
	service := rig.Start(t, rig.Options{Database: rig.SQLite(t)})
	people := service.ConnectPatiently()
	worker := start(t, t.TempDir(), python, "-c", untilASecondSignal, service.URL())
	rig.Await(t, func() bool {
		page, err := people.ListApprovals(t.Context(), client.PendingListParams{})
		require.NoError(t, err)
		return len(page.Items) == 1
	}, "nothing is asked")
	require.NoError(t, worker.command.Process.Signal(syscall.SIGINT))
	rig.Await(t, func() bool {
		run, err := people.GetRun(t.Context(), "run-1")
		require.NoError(t, err)
		return run.OutputsCount == 1
	}, "the handler is not drained")
	require.NoError(t, worker.command.Process.Signal(syscall.SIGINT))
	select {
	case <-worker.ended:
	case <-rig.Soon(t).Done():
		require.Fail(t, "the worker goes on after the second signal")
	}
	run, err := people.GetRun(t.Context(), "run-1")
	require.NoError(t, err)
	require.Nil(t, run.Lease)
	require.Len(t, run.PendingApprovals, 1)
}

// catchInterrupts: a shell that runs tests in the background has them ignore Ctrl-C, and a worker would inherit that.
func catchInterrupts(t *testing.T) {
	t.Helper()
	caught := make(chan os.Signal, 1)
	ossignal.Notify(caught, os.Interrupt)
	t.Cleanup(func() { ossignal.Stop(caught) })
}

// TestPythonWorkerEndsAtASignal: at Ctrl-C and SIGTERM it releases the run that waits for a person, says
// nothing and exits with 0; what it asked stays open.
func TestPythonWorkerEndsAtASignal(t *testing.T) {
	python := needPython(t)
	catchInterrupts(t)
	for flavour, program := range untilASignal {
		for name, signal := range map[string]syscall.Signal{"Ctrl-C": syscall.SIGINT, "SIGTERM": syscall.SIGTERM} {
			t.Run(flavour+" "+name, func(t *testing.T) {
				service := rig.Start(t, rig.Options{Database: rig.SQLite(t)})
				people := service.ConnectPatiently()
				worker := start(t, t.TempDir(), python, "-c", program, service.URL())
				rig.Await(t, func() bool {
					page, err := people.ListApprovals(t.Context(), client.PendingListParams{})
					require.NoError(t, err)
					return len(page.Items) == 1
				}, "nothing is asked")
				require.NoError(t, worker.command.Process.Signal(signal))
				select {
				case <-worker.ended:
				case <-rig.Soon(t).Done():
					require.Fail(t, "the worker goes on after the signal")
				}
				require.Equal(t, "ended in order\n", worker.output.String())
				require.True(t, worker.command.ProcessState.Success())
				run, err := people.GetRun(t.Context(), "run-1")
				require.NoError(t, err)
				require.Nil(t, run.Lease)
				require.Len(t, run.PendingApprovals, 1)
			})
		}
	}
}
