package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/prompt"
)

// approvalsReview asks about pending approvals and questions one by one.
type approvalsReview struct {
	console.Connection
	ofSession
}

// reviewed is one pending request. One of approval and question is set.
type reviewed struct {
	approval    *api.PendingApprovalView
	question    *api.PendingQuestionView
	dueMs       int64 // 0 without a deadline
	createdAtMs int64
}

// reviewing is the state of one review.
type reviewing struct {
	terminal *console.Console
	client   *client.Client
	prompter *console.Prompter
}

var errQuit = errors.New("the person quits")

// Run asks until none is left or the person quits.
func (c *approvalsReview) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		list, err := c.pending(ctx, opened)
		if err != nil {
			return err
		}
		r := &reviewing{terminal: terminal, client: opened, prompter: console.NewPrompter(terminal)}
		defer r.prompter.Close()
		decided := 0
		for i := range list {
			review := r.approval
			if list[i].question != nil {
				review = r.question
			}
			done, err := review(ctx, &list[i], fmt.Sprintf("[%d of %d] ", i+1, len(list)))
			if errors.Is(err, errQuit) {
				break
			}
			if err != nil {
				terminal.Say("%d of %d decided", decided, len(list))
				return err
			}
			if done {
				decided++
			}
		}
		terminal.Say("%d of %d decided", decided, len(list))
		return nil
	})
}

// pending returns the open requests, the most urgent first.
func (c *approvalsReview) pending(ctx context.Context, opened *client.Client) ([]reviewed, error) {
	params := client.PendingListParams{SessionID: c.SessionID, Below: true}
	approvals, err := collect(opened.AllApprovals(ctx, params), 0)
	if err != nil {
		return nil, err
	}
	questions, err := collect(opened.AllQuestions(ctx, params), 0)
	if err != nil {
		return nil, err
	}
	list := make([]reviewed, 0, len(approvals)+len(questions))
	for i := range approvals {
		request := &approvals[i].Request
		list = append(list, reviewed{approval: &approvals[i], dueMs: prompt.DeadlineMs(request.ExpiresAtMs, request.Escalation), createdAtMs: request.CreatedAtMs})
	}
	for i := range questions {
		request := &questions[i].Request
		list = append(list, reviewed{question: &questions[i], dueMs: prompt.DeadlineMs(request.ExpiresAtMs, request.Escalation), createdAtMs: request.CreatedAtMs})
	}
	slices.SortStableFunc(list, func(a, b reviewed) int {
		if (a.dueMs == 0) != (b.dueMs == 0) {
			return cmp.Compare(b.dueMs, a.dueMs) // one with a deadline first
		}
		return cmp.Or(cmp.Compare(a.dueMs, b.dueMs), cmp.Compare(a.createdAtMs, b.createdAtMs))
	})
	return list, nil
}

// whereAsked names the session that asks by its label and origin, else by its id.
func whereAsked(about *api.SessionAbout, sessionID, parentSessionID string) string {
	if about != nil && (about.Label != "" || about.Origin != nil) {
		return strings.Trim(about.Label+" · "+whereOf(about.Origin), " ·")
	}
	return console.SessionName(console.NameOfID(sessionID), console.NameOfID(parentSessionID))
}

const reviewHelp = "a allow · d deny, with a reason · e edit the input and allow it · s skip · i show the ids and all members · q quit"

// approval shows an approval and carries out the person's choice. It reports and skips one that was
// decided by somebody else meanwhile.
func (r *reviewing) approval(ctx context.Context, one *reviewed, count string) (decided bool, err error) {
	view, err := r.current(ctx, one.approval.Request.Handle, one.approval.Request.ToolName+": "+prompt.CommandOf(one.approval.Request.Input))
	if view == nil {
		return false, err
	}
	request, now := approvalOf(view), r.terminal.Now()
	name := nameOf(request.ToolName + ": " + prompt.CommandOf(request.Input))
	fields := console.FieldsOf(prompt.ForDeciding(prompt.OfApproval(&request)), now)
	fields = slices.Insert(fields, 1, []console.Field{{"agent", console.NameOfID(view.AgentID)}, {"where", whereAsked(view.Session, view.SessionID, view.ParentSessionID)}}...)
	fields = append(fields, []console.Field{
		{"you may not allow it", excludedText(view)},
		{"looking", lookers(view.Acknowledgement, now)},
	}...)
	first, err := r.show(fields, count)
	if err != nil {
		return false, err
	}
	choices := "[a]llow [d]eny [e]dit [s]kip [q]uit [?] "
	if view.RequesterExcluded != nil {
		choices = "[d]eny [s]kip [q]uit [?] "
	}
	for {
		word := first
		if first = ""; word == "" {
			if word, err = r.prompter.Aimed(count + choices); err != nil {
				return false, console.Usage("%w", err)
			}
		}
		resolution := api.ApprovalResolution{Behavior: api.BehaviorAllow}
		switch word = strings.ToLower(word); word {
		case "a", "allow", "y", "yes", "e", "edit":
			if view.RequesterExcluded != nil {
				r.terminal.Say("%s", console.Printable(view.RequesterExcluded.Detail, false))
				continue
			}
			if word[0] == 'e' {
				if resolution.UpdatedInput, err = r.terminal.ConfirmedEdit(ctx, r.prompter, request.Input); err != nil {
					r.terminal.Say("%s", console.Explain(err, now))
					continue
				}
			}
		case "d", "deny", "n", "no":
			resolution.Behavior = api.BehaviorDeny
			if resolution.Reason, err = r.prompter.Line("why (empty for no reason): "); err != nil {
				return false, console.Usage("%w", err)
			}
		case "i":
			if err := r.terminal.Describe(approvalRef{}.fields(view, now)); err != nil {
				return false, err
			}
			continue
		case "s", "skip":
			return false, nil
		case "q", "quit":
			return false, errQuit
		default:
			r.terminal.Say(reviewHelp)
			continue
		}
		_, err = r.client.ResolveRunApprovals(ctx, view.RunID, client.ResolveApprovalsParams{
			Resolutions: []api.ApprovalResolution{boundTo(resolution, &request)},
		})
		outcome := map[api.Behavior]string{api.BehaviorAllow: "allowed", api.BehaviorDeny: "denied"}[resolution.Behavior]
		return r.sent(err, outcome+": "+name)
	}
}

// current reads a request again. It returns nil, and says why, if the request cannot be decided any more.
func (r *reviewing) current(ctx context.Context, handle, name string) (*api.RequestView, error) {
	view, err := r.client.GetRequest(ctx, handle)
	switch {
	case errors.As(err, new(*client.Error)) && !client.Away(err):
		r.terminal.Say("%s: %s", nameOf(name), console.Explain(err, r.terminal.Now()))
		return nil, nil //nolint:nilnil // it was said, and the review goes on
	case err != nil:
		return nil, err
	case view.RecordedDecision != nil:
		r.terminal.Say("%s was %s meanwhile", nameOf(name), console.Printable(decidedText(view.RecordedDecision, r.terminal.Now()), false))
		return nil, nil //nolint:nilnil // it was said, and the review goes on
	}
	return view, nil
}

// nameOf names a request in one short line.
func nameOf(text string) string { return console.Cut(console.Printable(text, false), 100) }

// show prints an approval. What does not fit on the screen is shown in parts, and can be allowed at the end only. It
// returns the choice of a person who does not read on.
func (r *reviewing) show(fields []console.Field, count string) (word string, err error) {
	pages := r.terminal.Pages(fields)
	for i, page := range pages {
		if _, err := fmt.Fprint(r.terminal.Stdout, page); err != nil {
			return "", err
		}
		more := strings.Count(strings.Join(pages[i+1:], ""), "\n")
		for reads := more == 0; !reads; {
			if word, err = r.prompter.Aimed(fmt.Sprintf("%s%s: [enter] reads on [d]eny [s]kip [q]uit ", count, console.Count(more, "more line"))); err != nil {
				return "", console.Usage("%w", err)
			}
			switch strings.ToLower(word) {
			case "d", "deny", "n", "no", "s", "skip", "q", "quit":
				return word, nil
			case "":
				reads = true
			default:
				r.terminal.Say("Read to the end to allow: enter shows more")
			}
		}
	}
	return "", nil
}

// sent says what became of a decision. A refusal is reported, and the review goes on.
func (r *reviewing) sent(err error, words string) (decided bool, _ error) {
	if errors.As(err, new(*client.Error)) && !client.Away(err) {
		r.terminal.Say("%s", console.Explain(err, r.terminal.Now()))
		return false, nil
	}
	if err == nil {
		r.terminal.Say("%s", words)
	}
	return err == nil, err
}

// question shows a question and asks for its answer.
func (r *reviewing) question(ctx context.Context, one *reviewed, count string) (decided bool, err error) {
	item := one.question
	now, request := r.terminal.Now(), &item.Request
	if view, err := r.current(ctx, request.Handle, prompt.QuestionText(request)); view == nil {
		return false, err
	}
	fields := []console.Field{{"agent", console.NameOfID(item.AgentID)}, {"where", whereAsked(item.Session, item.SessionID, item.ParentSessionID)}}
	// The prompter shows the questions, numbered, and the payload.
	rows := slices.DeleteFunc(prompt.ForDeciding(prompt.OfQuestion(request)), func(row prompt.Row) bool { return row.Kind == prompt.Body })
	if err := r.terminal.Describe(append(fields, console.FieldsOf(rows, now)...)); err != nil {
		return false, err
	}
	r.prompter.Show(request)
	for {
		word, err := r.prompter.Aimed(count + "[a]nswer [d]ecline [s]kip [q]uit [?] ")
		if err != nil {
			return false, console.Usage("%w", err)
		}
		resolution, words := api.UserQuestionResolution{RequestID: request.ID}, "answered"
		switch strings.ToLower(word) {
		case "a", "answer":
			if resolution, err = r.prompter.Ask(request, resolution); err != nil {
				return false, console.Usage("%w", err)
			}
		case "d", "decline":
			resolution.Declined, words = true, "declined"
		case "i":
			if err := r.terminal.Describe(questionRef{}.fields(item, now)); err != nil {
				return false, err
			}
			continue
		case "s", "skip":
			return false, nil
		case "q", "quit":
			return false, errQuit
		default:
			r.terminal.Say("a answer · d decline · s skip · i show the ids and all members · q quit")
			continue
		}
		params := client.AnswerQuestionParams{Resolution: resolution}
		if item.RunID == "" {
			_, err = r.client.AnswerSessionQuestion(ctx, item.SessionID, params)
		} else {
			_, err = r.client.AnswerRunQuestion(ctx, item.RunID, params)
		}
		return r.sent(err, words+": "+nameOf(prompt.QuestionText(request)))
	}
}
