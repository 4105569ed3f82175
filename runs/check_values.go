package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// CheckValues checks the values of a prepared command (edited inputs, typed answers) against
// the schemas of the requests that it names, and stores the faults in the command. It runs
// without a lock, on the caller's time, because the caller chooses how much work it is;
// [Decide] only looks the verdicts up. It also encrypts sensitive values and encodes large ones.
// Without such values it reads nothing. A fault is not an error here: Decide reports it at its
// place in the order of checks. Errors: the reader's errors except run_not_found, and the
// context's.
func CheckValues(ctx context.Context, reader ValueReader, command Command) error {
	if values := command.Spec().values; values != nil {
		return values.check(ctx, reader)
	}
	return nil
}

func (r *resolution) check(ctx context.Context, reader ValueReader) error {
	if err := r.bring(); err != nil {
		return err
	}
	values := r.values()
	if len(values) == 0 {
		return nil
	}
	requests, err := r.openRequests(ctx, reader, values)
	if err != nil && refusal.CodeOf(err) == "" {
		return err
	}
	verdicts, dataKeys := valueVerdicts{}, map[string]string{}
	r.checked.verdicts = verdicts
	var work document.Work
	for i := range requests {
		request := &requests[i]
		for _, given := range values {
			if given.requestID != request.RequestID || given.kind != request.Kind {
				continue
			}
			if schema := schemaOf(request); schema != nil && given.value != nil {
				// Even a short schema may be expensive to check.
				if err := cpulimit.Do(ctx, cpulimit.Bytes, func() error {
					verdicts[request.Handle] = work.MatchSchema(schema, given.value, given.pointer)
					return nil
				}); err != nil {
					return err
				}
			}
		}
		if err := r.sealDecisions(ctx, reader, request, dataKeys); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// bring encodes the call's large values that are recorded with its decision. A repeated check
// reuses the encoded forms.
func (r *resolution) bring() error {
	brought := &r.checked.brought
	if brought.values != nil || brought.answers != nil {
		return nil
	}
	for i := range r.approvals {
		given := &r.approvals[i]
		if err := brought.bring(given.UpdatedInput, given.RuntimePayload); err != nil {
			return err
		}
	}
	for i := range r.answers {
		given := &r.answers[i]
		if err := brought.bring(given.Value, given.RuntimePayload); err != nil {
			return err
		}
		if err := brought.bringAnswers(given.Answers); err != nil {
			return err
		}
	}
	if r.cancel != nil {
		return brought.bring(r.cancel.runtimePayload)
	}
	return nil
}

// readAllNamed makes CheckValues read every request that the command names.
func readAllNamed(command Command) {
	if checked := command.Spec().checked; checked != nil {
		checked.readAll = true
	}
}

// givenValue is a value from the caller that may have a schema.
type givenValue struct {
	requestID, pointer string
	kind               model.RequestKind
	value              api.JSON
}

// values returns the call's values that may have a schema.
func (r *resolution) values() []givenValue {
	var values []givenValue
	for i := range r.approvals {
		if given := &r.approvals[i]; r.checked.readAll || given.Behavior == api.BehaviorAllow && given.UpdatedInput != nil {
			pointer := fmt.Sprintf("%s/%d/updated_input", r.approvalsAt, i)
			values = append(values, givenValue{given.RequestID, pointer, model.KindApproval, given.UpdatedInput})
		}
	}
	for i := range r.answers {
		if given := &r.answers[i]; r.checked.readAll || given.Value != nil {
			values = append(values, givenValue{given.RequestID, r.answerAt(i) + "/value", model.KindQuestion, given.Value})
		}
	}
	return values
}

// pendingPage is how many open requests of a session are read per page.
const pendingPage = 200

// openRequests reads the run's open requests. On a session route it reads the session's open
// requests whose ids the values name.
func (r *resolution) openRequests(ctx context.Context, reader ValueReader, values []givenValue) ([]model.Request, error) {
	if r.runID != "" {
		if !refusal.ValidID(r.runID) {
			return nil, nil
		}
		record, err := reader.Run(ctx, r.runID)
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(record.Requests, func(request model.Request) bool { return !request.Open() }), nil
	}
	if !refusal.ValidID(r.sessionID) {
		return nil, nil
	}
	var found []model.Request
	budget := &reads.Budget{MaxBytes: api.MaxReplyBytes}
	query := reads.RequestQuery{Kind: values[0].kind, SessionID: r.sessionID, Limit: pendingPage, Budget: budget}
	for {
		page, err := reader.PendingRequests(ctx, query)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if slices.ContainsFunc(values, func(given givenValue) bool { return given.requestID == page[i].Request.RequestID }) {
				found = append(found, page[i].Request)
			}
		}
		if len(page) < pendingPage && !budget.Cut {
			return found, nil
		}
		last := &page[len(page)-1].Request
		query.After = &reads.RequestPosition{SessionID: last.SessionID, RunID: last.RunID, RequestID: last.RequestID}
	}
}

// schemaOf returns the schema for a request's answer or edited input, nil when it has none.
func schemaOf(request *model.Request) api.JSON {
	switch request.Kind {
	case model.KindApproval:
		return request.Approval().InputSchema
	case model.KindQuestion:
		return request.Question().ResponseSchema
	case model.KindClarification:
	}
	return nil
}

// Lacks handles an error that says what a decision of a prepared command lacked: rows, the requesters
// of ancestor sessions, or the check of a value, because a request was raised in between. It reads the
// requesters, and otherwise notes in the command what to load or check. If again is true, decide the
// command again; if unchecked is true, call [CheckValues] before. It returns the reader's errors and
// the context's. A Door never returns an error that is handled here.
func Lacks(ctx context.Context, reader ValueReader, command Command, err error) (again, unchecked bool, failed error) {
	if lacksRows(command, err) {
		return true, false, nil
	}
	if reader == nil {
		return false, false, nil
	}
	if again, err := readAncestors(ctx, reader, command, err); again || err != nil {
		return again, false, err
	}
	if errors.Is(err, ErrUnchecked) {
		readAllNamed(command)
		return true, true, nil
	}
	return false, false, nil
}
