package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// startRecord is the checkpoint of the run. It is written before the command starts. A
// later call that finds it on a run that has not ended does not know whether the command
// ran, and must not run it again by itself.
type startRecord struct {
	// State is "started", or "not_started" if the start was called off.
	State string `json:"state"`
	// AttemptID tells this start from one by --rerun.
	AttemptID   string `json:"attempt_id"`
	WorkerID    string `json:"worker_id"`
	StartedAtMs int64  `json:"started_at_ms"`
}

const (
	stateStarted    = "started"
	stateNotStarted = "not_started"
)

func startRecordOf(checkpoint api.JSON) startRecord {
	var record startRecord
	if checkpoint == nil || json.Unmarshal(checkpoint, &record) != nil {
		return startRecord{}
	}
	return record
}

// start runs the approved command, unless an earlier call may have done so.
func (e *execution) start(ctx context.Context, claim *api.Claim, settled api.SettledApproval) (done bool, err error) {
	runID, fence := claim.Run.RunID, claim.Lease.Fence
	earlier := startRecordOf(claim.Checkpoint)
	redeemed := settled.Resolution.Grant != nil && settled.Resolution.Grant.RedeemedAtMs != 0
	if (earlier.State == stateStarted || redeemed && earlier.State != stateNotStarted) && !e.rerun {
		// Release at once: the process that started it may be alive and about to record the
		// end.
		_, err := e.ReleaseRun(ctx, runID, fence, nil)
		if err != nil && !errors.Is(err, client.ErrLeaseLost) {
			return false, err
		}
		return true, console.Failed(console.ExitUnknownEnd, "run %s was approved and started by %s, %s, and its outcome is unknown.\n"+
			"           It may have done its work, in part or whole, or still be running. It was not run again.\n"+
			"           When you are sure that it may run again: the same command with --rerun",
			runID, console.Printable(cmp.Or(earlier.WorkerID, "another"), false), console.Ago(cmp.Or(earlier.StartedAtMs, redeemedAtMs(settled)), e.terminal.Now()))
	}
	plan, err := planOf(settled)
	if err != nil {
		e.fail(ctx, claim, console.Printable(err.Error(), false))
		return true, err
	}
	record := startRecord{
		State: stateStarted, AttemptID: runs.NewID("attempt"), WorkerID: claim.Lease.WorkerID,
		StartedAtMs: e.terminal.Now().UnixMilli(),
	}
	err = e.checkpoint(ctx, fence, record)
	if ctx.Err() != nil {
		e.callOff(ctx, fence, record)
		return true, context.Cause(ctx)
	}
	if err != nil {
		return false, err
	}
	if !redeemed {
		if err := e.redeem(ctx, fence, record, settled); err != nil {
			return !errors.Is(err, client.ErrLeaseLost) && !errors.Is(err, client.ErrRunState), err
		}
	}
	if plan.edited {
		e.terminal.Say("approved by %s with changes: %s", console.Printable(settled.Resolution.ResolvedBy, false), console.Printable(plan.line(), false))
	}
	if rule := settled.Resolution.Rule; rule != nil && strings.HasPrefix(settled.Resolution.Via, api.ViaRule) {
		e.terminal.Say("allowed without asking, by rule %s: %s", rule.RuleID, console.Printable(rule.Text, false))
	}
	return true, e.carryOut(ctx, plan, &keeper{gate: &e.gate, fence: fence, attemptID: record.AttemptID})
}

func redeemedAtMs(settled api.SettledApproval) int64 {
	if settled.Resolution.Grant == nil {
		return 0
	}
	return settled.Resolution.Grant.RedeemedAtMs
}

// redeem redeems the grant for the input of the plan. If it is refused, redeem records that
// nothing was started. The error reports a lost lease, is the cause of ctx's end, or has
// the exit code ExitForeign.
func (e *execution) redeem(ctx context.Context, fence string, record startRecord, settled api.SettledApproval) error {
	grant, input := settled.Resolution.Grant, settled.Request.Input
	if settled.Resolution.UpdatedInput != nil {
		input = settled.Resolution.UpdatedInput
	}
	err := errors.New("the decision came without a grant")
	if grant != nil && grant.JWS != "" {
		redemption := client.RedeemGrantParams{Grant: grant.JWS, Input: input, IdempotencyKey: record.AttemptID}
		err = e.retryTransient(ctx, func() error {
			_, err := e.RedeemGrant(ctx, redemption)
			if errors.Is(err, client.ErrGrantExpired) {
				// The lease has lapsed while the service was away. The grant is valid while it is renewed.
				if err = e.checkpoint(ctx, fence, record); err == nil {
					_, err = e.RedeemGrant(ctx, redemption)
				}
			}
			return err
		})
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, client.ErrLeaseLost), errors.Is(err, client.ErrRunState):
		return err
	}
	e.callOff(ctx, fence, record)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return console.Failed(console.ExitForeign, "NOTHING WAS RUN: the grant of run %s was refused: %s", e.params.RunID, console.Printable(err.Error(), false))
}

// checkpoint stores the record under the fence. It fails if another process has claimed the
// run, and retries while the service is away.
func (e *execution) checkpoint(ctx context.Context, fence string, record startRecord) error {
	text, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("encode the checkpoint: %w", err)
	}
	return e.retryTransient(ctx, func() error {
		kept, err := e.Heartbeat(ctx, e.params.RunID, client.HeartbeatParams{
			Fence: fence, LeaseMs: e.lease.Milliseconds(), Checkpoint: text,
		})
		if err == nil && kept.CancelRequested {
			return fmt.Errorf("cancelled before it started: %w", client.ErrLeaseLost)
		}
		return err
	})
}

// callOff releases the run with the record that the command was not started.
func (e *execution) callOff(ctx context.Context, fence string, record startRecord) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	record.State = stateNotStarted
	text, err := json.Marshal(record)
	if err == nil {
		_, err = e.ReleaseRun(ctx, e.params.RunID, fence, text)
	}
	if err != nil {
		e.terminal.Say("the command was not started, but that could not be recorded: %v", err)
	}
}

// carryOut runs the command, keeps the lease meanwhile, and records the end.
func (e *execution) carryOut(ctx context.Context, plan plan, keeper *keeper) error {
	report := execReport{Outcome: outcomeExited, Argv: plan.argv, Cwd: plan.cwd, Edited: plan.edited}
	command, err := bind(plan)
	if err == nil {
		defer command.release()
		err = e.launch(command.Cmd, plan)
	}
	if err != nil {
		report.Outcome, report.Reason, report.ExitCode = outcomeNotStarted, err.Error(), startCode(err)
	} else {
		send := func(received os.Signal) { _ = command.Process.Signal(received) } // it may have ended
		e.forward(ctx, command.Process.Pid, send)
		stopped := context.AfterFunc(ctx, func() {
			cause := context.Cause(ctx)
			_, early := errors.AsType[console.SignalError](cause) // forward has sent it
			if !early && !errors.Is(cause, errTimedOut) {         // --timeout is the limit of the wait
				send(syscall.SIGTERM)
			}
		})
		stopKeeping := keeper.keep(func() { send(syscall.SIGTERM) })
		_ = command.Wait() // the process state has the result
		stopped()
		stopKeeping()
		report.ExitCode, report.Signal = endOf(command.ProcessState)
	}
	e.code = e.sayReport(report)

	// From here on a signal only ends the attempts to record the end.
	recording, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	e.relay.direct(func(received os.Signal) { cancel(console.SignalError{Signal: received}) })
	return e.recordEnd(recording, keeper, report)
}

// launch starts a command with the streams of this process.
func (e *execution) launch(command *exec.Cmd, plan plan) error {
	// The command does not get the token, so it cannot approve its own requests, nor a
	// variable that the person who approved it removed.
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return name == console.TokenVariable || slices.Contains(plan.without, name)
	})
	// The last value of a variable counts, so that one that was approved wins.
	if directory, err := filepath.Abs(plan.cwd); err == nil && !slices.Contains(plan.without, "PWD") {
		command.Env = append(command.Env, "PWD="+directory)
	}
	for _, name := range slices.Sorted(maps.Keys(plan.env)) {
		command.Env = append(command.Env, name+"="+plan.env[name])
	}
	command.Stdin, command.Stdout, command.Stderr = e.terminal.Stdin, e.terminal.Stdout, e.terminal.Stderr
	return command.Start()
}

// startCode returns the exit code for a command that could not be started.
func startCode(err error) int {
	switch {
	case errors.As(err, new(*changedError)):
		return console.ExitForeign
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return console.ExitNotFound
	}
	return console.ExitCannotRun
}

// forward sends signals to the command, including one that arrived while it was started.
func (e *execution) forward(ctx context.Context, pid int, send func(os.Signal)) {
	e.relay.catch()
	e.relay.direct(func(received os.Signal) {
		if !fromTerminal(received, pid) {
			send(received)
		}
	})
	var early console.SignalError
	if errors.As(context.Cause(ctx), &early) {
		send(early.Signal)
	}
}

// endOf returns the exit code of an ended process, and the signal that ended it, if any.
func endOf(state *os.ProcessState) (code int, signal string) {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return console.SignalCode(status.Signal()), status.Signal().String()
	}
	return state.ExitCode(), ""
}

// keeper renews the lease of a run while its command runs.
type keeper struct {
	gate *gate
	// fence and takenOver may be read after the keeper has stopped.
	fence     string
	attemptID string
	takenOver bool
}

// keep renews the lease until stop is called. stop waits for a renewal in flight. keep
// calls cancelled if the run was cancelled or interrupted.
func (k *keeper) keep(cancelled func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		ticker := time.NewTicker(k.gate.lease / 3)
		defer ticker.Stop()
		for !k.takenOver {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if k.renew(ctx) {
				k.gate.terminal.Say("run %s was cancelled; the command was told to stop", k.gate.params.RunID)
				cancelled()
			}
		}
	})
	return func() {
		cancel()
		group.Wait()
	}
}

// renew sends one heartbeat and reports whether the run was cancelled.
func (k *keeper) renew(ctx context.Context) (cancelled bool) {
	call, stop := context.WithTimeout(ctx, k.gate.lease/3) // a long Retry-After must not outlast the lease
	kept, err := k.gate.Heartbeat(call, k.gate.params.RunID, client.HeartbeatParams{
		Fence: k.fence, LeaseMs: k.gate.lease.Milliseconds(),
	})
	stop()
	switch {
	case err == nil:
		k.gate.sayBack()
		k.takenOver = kept.CancelRequested
		return kept.CancelRequested
	case errors.Is(err, client.ErrLeaseLost):
		k.reclaim(ctx)
	case errors.Is(err, client.ErrRunState), errors.Is(err, client.ErrNotFound) && !client.Away(err):
		k.takenOver = true
	default:
		if ctx.Err() == nil {
			k.gate.sayLost(err)
		}
	}
	return false
}

// reclaim claims the run again after its lease has expired and another call with the same
// key has claimed it. That call normally finds the record of this start and releases the
// run. If it used --rerun, it has written its own record, and this call has lost the run.
func (k *keeper) reclaim(ctx context.Context) {
	runID := k.gate.params.RunID
	claim, err := k.gate.ClaimRun(ctx, runID, api.ClaimOptions{
		WorkerID: workerID(k.gate.noun), LeaseMs: k.gate.lease.Milliseconds(),
	})
	switch {
	case errors.Is(err, client.ErrRunNotClaimable):
		// Another process holds it, or it has ended; only the latter is final.
		if view, err := k.gate.GetRun(ctx, runID); err == nil && model.Terminal(view.Status) {
			k.takenOver = true
		}
		return
	case errors.As(err, new(*client.Error)) && !client.Away(err):
		k.takenOver = true
		return
	case err != nil:
		return // the next attempt may reach the service again
	}
	if startRecordOf(claim.Checkpoint).AttemptID != k.attemptID {
		k.takenOver = true
		_, _ = k.gate.ReleaseRun(ctx, runID, claim.Lease.Fence, nil) // otherwise it expires
		return
	}
	k.fence = claim.Lease.Fence
}
