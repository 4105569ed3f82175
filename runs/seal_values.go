package runs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// check encrypts the sensitive values of a prepared Suspend under its run's data key, or a new one.
// Without sensitive values it reads nothing.
func (c *Suspend) check(ctx context.Context, reader ValueReader) error {
	secrets := c.suspending.secrets
	if secrets == nil || !refusal.ValidID(c.RunID) {
		return nil
	}
	record, err := reader.Run(ctx, c.RunID)
	switch {
	case refusal.CodeOf(err) != "":
		return nil // the decision returns the error
	case err != nil:
		return err
	}
	if record.Run.DataKey != "" {
		return cannotSeal(c.suspending.seal(record.Run.DataKey))
	}
	return cannotSeal(c.suspending.seal(cmp.Or(secrets.dataKey, secrets.sealer.NewDataKey())))
}

// sealDecisions checks and encrypts the call's decision about one open request, if that is sensitive.
// It replaces the verdicts with those for the unmasked values.
func (r *resolution) sealDecisions(ctx context.Context, reader ValueReader, request *model.Request, dataKeys map[string]string) error {
	if r.checked.sealer == nil {
		return nil
	}
	seal := func(string) (*sealedDecision, error) { return nil, nil }
	switch request.Kind {
	case model.KindApproval:
		approval := request.Approval()
		at := slices.IndexFunc(r.approvals, func(given ApprovalDecision) bool { return given.RequestID == request.RequestID })
		if len(approval.SensitivePaths) == 0 || at < 0 {
			return nil
		}
		seal = func(dataKey string) (*sealedDecision, error) {
			return r.sealApproval(request, &approval, &r.approvals[at], fmt.Sprintf("%s/%d/updated_input", r.approvalsAt, at), dataKey)
		}
	case model.KindQuestion:
		question := request.Question()
		at := slices.IndexFunc(r.answers, func(given QuestionAnswer) bool { return given.RequestID == request.RequestID })
		if !model.Sensitive(&question) || at < 0 {
			return nil
		}
		if faults := r.checked.verdicts[request.Handle]; len(faults) > 0 {
			// A fault's text could reveal the value.
			r.checked.verdicts[request.Handle] = []api.Fault{{Pointer: r.answerAt(at) + "/value", Detail: hiddenFault}}
		}
		seal = func(dataKey string) (*sealedDecision, error) {
			return r.sealAnswer(request, &question, &r.answers[at], dataKey)
		}
	case model.KindClarification:
		return nil
	}
	dataKey, known := dataKeys[request.RunID]
	if !known {
		record, err := reader.Run(ctx, request.RunID)
		if err != nil {
			return err
		}
		dataKey = record.Run.DataKey
		dataKeys[request.RunID] = dataKey
	}
	sealed, err := seal(dataKey)
	if err != nil || sealed == nil {
		return err
	}
	sealed.dataKey, sealed.base = dataKey, string(request.Sealed)
	put(&r.checked.decisions, request.Handle, sealed)
	return r.checked.brought.bring(sealed.updatedInput)
}

// hiddenFault replaces the schema faults of a sensitive value.
const hiddenFault = "does not match the schema of the request"

func (r *resolution) sealApproval(request *model.Request, approval *api.ApprovalRequest, given *ApprovalDecision, at, dataKey string) (*sealedDecision, error) {
	decision, before := &sealedDecision{}, request.SealedValues()
	secret := model.SecretDecision{RuntimePayload: given.RuntimePayload, UpdatedInput: given.UpdatedInput}
	if given.UpdatedInput != nil {
		input, err := r.checked.sealer.Open(dataKey, placeOf(request.Handle, partInput), before.Input)
		if err != nil {
			return nil, cannotSeal(err)
		}
		secret.UpdatedInput, decision.faults = unmask(given.UpdatedInput, input, approval.SensitivePaths, at)
		decision.updatedInput = maskInput(secret.UpdatedInput, approval.SensitivePaths)
		if approval.InputSchema != nil {
			var faults []api.Fault
			if len(document.MatchSchema(approval.InputSchema, secret.UpdatedInput, at)) > 0 {
				faults = []api.Fault{{Pointer: at, Detail: hiddenFault}}
			}
			r.checked.verdicts[request.Handle] = faults
		}
	}
	var err error
	decision.sealed, err = r.seal(request, before, secret, dataKey)
	return decision, err
}

// unmask replaces masked values in an edited input with the original values. It returns a fault for
// each outermost path that is missing in the edited input, or that may name another value there than in the original.
func unmask(edited, original api.JSON, paths []string, at string) (api.JSON, []api.Fault) {
	var faults []api.Fault
	lists := comparedLists{shown: maskInput(original, paths), edited: edited, read: map[string][2][]string{}}
	for _, text := range outermost(paths) {
		path, ok := document.ParsePointer(text)
		if !ok {
			continue // it was checked when the approval was raised
		}
		switch value := path.At(edited); {
		case value == nil:
			faults = append(faults, api.Fault{Pointer: at, Detail: "has nothing at " + text + ", which is sensitive: keep what stands there, or replace it"})
		case standsForSecret(value) && lists.moved(path):
			faults = append(faults, api.Fault{Pointer: at, Detail: "may have moved the sensitive value at " + text + " in its list: keep it where it stands, or replace it"})
		case standsForSecret(value):
			if was := path.At(original); was != nil {
				edited = path.Replace(edited, was)
			}
		}
	}
	return edited, faults
}

// comparedLists are the lists of an input as it was shown, and as it was edited. Each is read once: many paths may lead through it.
type comparedLists struct {
	shown, edited api.JSON
	read          map[string][2][]string // by the place of the list
}

// moved reports whether a list above a path was changed so that another of its elements may stand there: one would get the
// sensitive value of another.
func (l *comparedLists) moved(path document.Pointer) bool {
	shown, edited := l.shown, l.edited
	for n, step := range path {
		if document.Kind(shown) == '[' {
			at := fmt.Sprintf("%q", path[:n])
			if _, known := l.read[at]; !known {
				l.read[at] = [2][]string{elements(shown), elements(edited)}
			}
			was, is := l.read[at][0], l.read[at][1]
			place, err := strconv.Atoi(step)
			switch {
			case err != nil || place >= len(was) || place >= len(is):
				return true
			case is[place] == was[place]:
				return false
			case len(is) != len(was) || slices.Contains(was, is[place]):
				return true
			}
		}
		next := document.Pointer{step}
		shown, edited = next.At(shown), next.At(edited)
	}
	return false
}

// elements returns the elements of a list in canonical form, nil for other values.
func elements(value api.JSON) (texts []string) {
	var list []api.JSON
	if document.Kind(value) != '[' || json.Unmarshal(value, &list) != nil {
		return nil
	}
	for _, one := range list {
		text, err := document.Canonical(one)
		if err != nil {
			return nil
		}
		texts = append(texts, string(text))
	}
	return texts
}

func standsForSecret(value api.JSON) bool {
	compact, err := document.Compact(value)
	return err == nil && string(compact) == string(model.Masked)
}

func (r *resolution) sealAnswer(request *model.Request, question *api.UserQuestionRequest, given *QuestionAnswer, dataKey string) (*sealedDecision, error) {
	before := request.SealedValues()
	secret := model.SecretDecision{Answers: given.Answers, Value: given.Value, RuntimePayload: given.RuntimePayload}
	if r.partial && given.inParts(*question) && before.Decision != "" {
		kept, err := openDecision(r.checked.sealer, dataKey, request.Handle, before)
		if err != nil {
			return nil, err
		}
		secret.Answers = slices.Concat(kept.Answers, given.Answers)
	}
	sealed, err := r.seal(request, before, secret, dataKey)
	return &sealedDecision{sealed: sealed}, err
}

func (r *resolution) seal(request *model.Request, before model.SealedValues, secret model.SecretDecision, dataKey string) (api.JSON, error) {
	sealed, err := r.checked.sealer.Seal(dataKey, placeOf(request.Handle, partDecision), document.Encode(secret))
	if err != nil {
		return nil, cannotSeal(err)
	}
	before.Decision = sealed
	return document.Encode(before), nil
}

func openDecision(sealer Sealer, dataKey, handle string, sealed model.SealedValues) (model.SecretDecision, error) {
	var secret model.SecretDecision
	plain, err := sealer.Open(dataKey, placeOf(handle, partDecision), sealed.Decision)
	if err == nil {
		err = json.Unmarshal(plain, &secret)
	}
	if err != nil {
		return secret, cannotSeal(err)
	}
	return secret, nil
}

// OpenRecord returns the record with decrypted sensitive values, for the holder of the run's lease. A
// record without sensitive values, or of a finished run, is returned unchanged. Errors: one that
// wraps ErrUnavailable when the key is not configured.
func OpenRecord(sealer Sealer, record *model.RunRecord) (*model.RunRecord, error) {
	requests, err := OpenRequests(sealer, &record.Run, record.Requests)
	if err != nil {
		return nil, err
	}
	opened := *record
	opened.Requests = requests
	return &opened, nil
}

// OpenRequests is OpenRecord for a run's requests.
func OpenRequests(sealer Sealer, run *model.Run, requests []model.Request) ([]model.Request, error) {
	if run.DataKey == "" || !slices.ContainsFunc(requests, func(r model.Request) bool { return r.Sealed != nil }) {
		return requests, nil
	}
	if sealer == nil {
		return nil, fmt.Errorf("%w: there is no key to decrypt sensitive values with", ErrUnavailable)
	}
	requests = slices.Clone(requests)
	for i := range requests {
		if err := openRequest(sealer, run.DataKey, &requests[i]); err != nil {
			return nil, err
		}
	}
	return requests, nil
}

func openRequest(sealer Sealer, dataKey string, request *model.Request) error {
	sealed := request.SealedValues()
	if sealed.Input != "" {
		input, err := sealer.Open(dataKey, placeOf(request.Handle, partInput), sealed.Input)
		if err != nil {
			return cannotSeal(err)
		}
		approval := request.Approval()
		approval.Input = input
		request.Body = document.Encode(approval)
	}
	if sealed.Decision == "" || request.Open() {
		return nil
	}
	secret, err := openDecision(sealer, dataKey, request.Handle, sealed)
	if err != nil {
		return err
	}
	// The sealed values may be partial answers to a request that was later settled otherwise.
	resolution := request.Recorded()
	if resolution.RuntimePayload != nil {
		resolution.RuntimePayload = secret.RuntimePayload
	}
	if resolution.UpdatedInput != nil {
		resolution.UpdatedInput = secret.UpdatedInput
	}
	if resolution.Outcome == api.OutcomeAnswered {
		resolution.Answers, resolution.Value = secret.Answers, secret.Value
	}
	request.Resolution = document.Encode(resolution)
	return nil
}

// OpenCallback returns a request's callback. Errors: one that wraps ErrUnavailable when the key is not
// configured.
func OpenCallback(sealer Sealer, request *model.Request) (*api.Callback, error) {
	sealed := request.SealedValues().Callback
	if sealed == nil {
		return nil, refusal.New(api.CodeRequestNotFound, "the request has no callback")
	}
	plain, err := sealer.Open(sealed.DataKey, placeOf(request.Handle, partCallback), sealed.Sealed)
	if err != nil {
		return nil, cannotSeal(err)
	}
	var given api.Callback
	if err := json.Unmarshal(plain, &given); err != nil {
		return nil, cannotSeal(err)
	}
	return &given, nil
}
