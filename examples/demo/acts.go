package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/examples/agents"
)

// plannedCommands has one read-only step and three that must be allowed. The process is
// killed before the last one.
var plannedCommands = []string{"echo the plan begins", "mkdir build", "touch build/old", "rm -rf build"}

// shellPlan is the first act: approvals, and a crash during one.
func (d *Demo) shellPlan(ctx context.Context) error {
	d.tell("\n1. An agent has a plan of %d shell commands. It asks before every command that changes something.", len(plannedCommands))
	runID, err := d.create(ctx, agents.ShellPlanAgent, map[string]any{"plan": plannedCommands})
	if err != nil {
		return err
	}
	killed := false
	asked := map[string]bool{}
	for {
		view, err := d.await(ctx, runID)
		switch {
		case err != nil:
			return err
		case len(view.PendingApprovals) == 0:
			if err := d.showEnd(view); err != nil {
				return err
			}
			if !killed {
				d.tell("   Somebody decided faster than the service could be killed.")
			}
			return d.checkSteps(ctx, view)
		}
		pending := view.PendingApprovals[0]
		command := text(pending.Input, "command")
		if asked[command] {
			return fmt.Errorf("the agent asks again: %s", command)
		}
		asked[command] = true
		if command == plannedCommands[len(plannedCommands)-1] {
			killed = true
			if err := d.killInTheMiddle(ctx, &pending); err != nil {
				return err
			}
		}
		if err := d.decide(ctx, runID, &pending); err != nil {
			return err
		}
	}
}

// killInTheMiddle kills the process like a crash while a request is open.
func (d *Demo) killInTheMiddle(ctx context.Context, asked *api.ApprovalRequest) error {
	before := d.process.pid()
	d.tell("\n   The agent now asks for: %s\n   The prompt is %s.", text(asked.Input, "command"), asked.Handle)
	d.tell("   Before anyone answers: kill -9 %d. The service and the agents are gone.", before)
	if err := d.process.killRunning(); err != nil {
		return err
	}
	if err := d.start(ctx); err != nil {
		return err
	}
	survived, err := d.client.GetRequest(ctx, asked.Handle)
	if err != nil {
		return fmt.Errorf("the prompt %s did not survive: %w", asked.Handle, err)
	}
	state := "is still open"
	if survived.Resolution != nil {
		state = "is there, and someone was faster"
	}
	d.tell("   Started again as process %d. The prompt %s %s.", d.process.pid(), asked.Handle, state)
	return nil
}

// decide asks the person about a command, or plays the person.
func (d *Demo) decide(ctx context.Context, runID string, asked *api.ApprovalRequest) error {
	d.tell("\n   %s wants to run: %s\n   (%s)", asked.ToolName, text(asked.Input, "command"), asked.Reason)
	resolution := api.ApprovalResolution{RequestID: asked.ID, Behavior: api.BehaviorAllow}
	switch {
	case d.Open != nil:
		return d.decidedElsewhere(ctx, asked.Handle)
	case d.Person == nil:
		d.tell("   The person says: yes")
	default:
		allow, err := d.askPerson(ctx, asked.Handle)
		if errors.Is(err, errDecidedElsewhere) {
			return d.decidedElsewhere(ctx, asked.Handle)
		}
		if err != nil {
			return err
		}
		if !allow {
			resolution.Behavior, resolution.Reason = api.BehaviorDeny, "the person said no"
		}
	}
	_, err := d.client.ResolveRunApprovals(ctx, runID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{resolution}})
	if errors.Is(err, client.ErrAlreadyDecided) {
		return d.decidedElsewhere(ctx, asked.Handle)
	}
	return err
}

// askPerson asks until the answer is yes or no.
func (d *Demo) askPerson(ctx context.Context, handle string) (allow bool, err error) {
	ctx, stop := d.untilDecided(ctx, handle)
	defer stop()
	for {
		line, err := d.Person.Line(ctx, "   Allow it? [y/n] ")
		if err != nil {
			return false, err
		}
		switch strings.ToLower(line) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
		d.tell("   Please say yes or no.")
	}
}

// checkSteps compares the steps that the agent reports with the decisions.
func (d *Demo) checkSteps(ctx context.Context, view *api.RunView) error {
	var done struct {
		Steps []struct {
			Command string `json:"command"`
			Status  string `json:"status"`
		} `json:"steps"`
	}
	if err := json.Unmarshal(view.Output, &done); err != nil {
		return fmt.Errorf("read what the agent did: %w", err)
	}
	// The first step needs no approval.
	allowed := map[string]bool{plannedCommands[0]: true}
	for decided, err := range d.client.AllDecisions(ctx, client.DecisionListParams{SessionID: view.SessionID}) {
		if err != nil {
			return err
		}
		var request api.ApprovalRequest
		if err := json.Unmarshal(decided.Request, &request); err != nil {
			return fmt.Errorf("read the pending request: %w", err)
		}
		allowed[text(request.Input, "command")] = decided.Resolution.Outcome == api.OutcomeAllowed
	}
	if len(done.Steps) != len(plannedCommands) || len(allowed) != len(plannedCommands) {
		return fmt.Errorf("the agent did %d of %d steps and asked for %d", len(done.Steps), len(plannedCommands), len(allowed)-1)
	}
	allAllowed := !slices.Contains(slices.Collect(maps.Values(allowed)), false)
	for i, step := range done.Steps {
		// An allowed command may fail if another one was denied.
		fits := step.Status == "done" || step.Status == "failed" && !allAllowed
		if !allowed[step.Command] {
			fits = step.Status == "denied"
		}
		if !fits || step.Command != plannedCommands[i] {
			return fmt.Errorf("step %d is %s: %s", i+1, step.Status, step.Command)
		}
	}
	return nil
}

// interview is the second act: several questions, and a typed value.
func (d *Demo) interview(ctx context.Context) error {
	d.tell("\n2. Another agent interviews someone and writes a file from the answers.")
	runID, err := d.create(ctx, agents.InterviewAgent, map[string]any{"topic": "a new service"})
	if err != nil {
		return err
	}
	for {
		view, err := d.await(ctx, runID)
		if err != nil {
			return err
		}
		if len(view.PendingQuestions) == 0 {
			if err := d.showEnd(view); err != nil {
				return err
			}
			return d.showFile(view)
		}
		if err := d.answer(ctx, runID, &view.PendingQuestions[0]); err != nil {
			return err
		}
	}
}

// playedAnswers are the person's answers when the demo plays the person.
var playedAnswers = map[string]api.UserQuestionAnswer{
	"name":     {QuestionID: "name", FreeformAnswer: "orders"},
	"database": {QuestionID: "database", SelectedOptionIDs: []string{"postgres"}},
	"features": {QuestionID: "features", SelectedOptionIDs: []string{"metrics", "auth"}},
}

// said returns an answer in words.
func said(answer api.UserQuestionAnswer) string {
	if answer.FreeformAnswer != "" {
		return answer.FreeformAnswer
	}
	return strings.Join(answer.SelectedOptionIDs, ", ")
}

const playedReplicas = `3`

func (d *Demo) answer(ctx context.Context, runID string, asked *api.UserQuestionRequest) error {
	resolution := api.UserQuestionResolution{RequestID: asked.ID}
	switch {
	case d.Open != nil:
		d.tell("\n   The agent asks a question.")
		return d.decidedElsewhere(ctx, asked.Handle)
	case d.Person != nil:
		given, err := d.askAnswers(ctx, asked, resolution)
		if errors.Is(err, errDecidedElsewhere) {
			return d.decidedElsewhere(ctx, asked.Handle)
		}
		if err != nil {
			return err
		}
		resolution = given
	default:
		d.playAnswers(asked, &resolution)
	}
	_, err := d.client.AnswerRunQuestion(ctx, runID, client.AnswerQuestionParams{Resolution: resolution})
	switch {
	case d.Person != nil && errors.Is(err, client.ErrInvalid):
		d.tell("   %s", d.Explain(err))
		return nil // it is asked again
	case errors.Is(err, client.ErrAlreadyDecided):
		return d.decidedElsewhere(ctx, asked.Handle)
	}
	return err
}

func (d *Demo) askAnswers(ctx context.Context, asked *api.UserQuestionRequest, resolution api.UserQuestionResolution) (api.UserQuestionResolution, error) {
	ctx, stop := d.untilDecided(ctx, asked.Handle)
	defer stop()
	return d.Person.Answers(ctx, asked, resolution)
}

func (d *Demo) playAnswers(asked *api.UserQuestionRequest, resolution *api.UserQuestionResolution) {
	d.tell("")
	for _, question := range asked.Questions {
		answer := playedAnswers[question.ID]
		resolution.Answers = append(resolution.Answers, answer)
		d.tell("   The agent asks: %s\n   The person says: %s", question.Question, said(answer))
	}
	if len(asked.Questions) == 0 {
		resolution.Value = api.JSON(playedReplicas)
		d.tell("   The agent asks: %s\n   The person says: %s", text(asked.Payload, "question"), playedReplicas)
	}
}

// showFile prints the file written by the agent.
func (d *Demo) showFile(view *api.RunView) error {
	var written struct {
		Written string `json:"written"`
		Content string `json:"content"`
	}
	if err := json.Unmarshal(view.Output, &written); err != nil {
		return fmt.Errorf("read what the agent wrote: %w", err)
	}
	content, err := os.ReadFile(written.Written)
	if err != nil {
		return fmt.Errorf("look at the file: %w", err)
	}
	if string(content) != written.Content {
		return fmt.Errorf("%s is not what the agent says it wrote: %s", written.Written, content)
	}
	d.tell("\n     %s", strings.ReplaceAll(strings.TrimSpace(written.Content), "\n", "\n     "))
	return nil
}

// create creates a run for an agent.
func (d *Demo) create(ctx context.Context, agentID string, input any) (runID string, err error) {
	run, err := d.client.CreateRun(ctx, client.CreateRunParams{AgentID: agentID, Input: input})
	if err != nil {
		return "", err
	}
	d.runs = append(d.runs, run.RunID)
	return run.RunID, nil
}

// await returns the run once it waits for a person or has ended.
func (d *Demo) await(ctx context.Context, runID string) (*api.RunView, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		view, err := d.client.GetRun(ctx, runID)
		if err != nil {
			return nil, err
		}
		if len(view.PendingApprovals)+len(view.PendingQuestions) > 0 || view.FinishedAtMs != 0 {
			return view, nil
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, fmt.Errorf("run %s does not go on: %w", runID, err)
		}
	}
}

// showEnd prints how a run ended.
func (d *Demo) showEnd(view *api.RunView) error {
	d.tell("")
	for _, output := range view.Outputs {
		d.tell("   agent: %s", output.Content)
	}
	if view.Status != api.StatusCompleted {
		return fmt.Errorf("run %s is %s: %s", view.RunID, view.Status, view.Error)
	}
	return nil
}

// text returns a text member of a JSON object; "" if there is none.
func text(object api.JSON, name string) string {
	var members map[string]any
	if json.Unmarshal(object, &members) != nil {
		return ""
	}
	value, _ := members[name].(string)
	return value
}
