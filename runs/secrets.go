package runs

import (
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Sealer encrypts what is sensitive before it reaches a row (docs/security.md#sensitive-values). A
// data key is the text that is stored of a run's key, itself encrypted. Its errors say that a key is
// not configured, or that a text was not made with it.
type Sealer interface {
	NewDataKey() string
	// Seal and Open must be given the same place.
	Seal(dataKey, place string, plain []byte) (string, error)
	Open(dataKey, place, sealed string) ([]byte, error)
	// Digest is a hexadecimal keyed digest that nobody can make without the data key.
	Digest(dataKey string, text []byte) (string, error)
	// Fingerprint is one that is the same for all runs, by which a repeated call is known.
	Fingerprint(text []byte) string
}

func secretsNotConfigured() *refusal.Error {
	return refusal.New(api.CodeSecretsNotConfigured, "something is marked sensitive, and the service has no key to encrypt it with")
}

// keyedDigestPrefix begins the digest of an input that nobody may guess.
const keyedDigestPrefix = document.KeyedDigestPrefix

// The parts of a request that are sealed; each is sealed at a place of its own.
const (
	partInput    = "input"
	partDecision = "decision"
	partCallback = "callback"
)

func placeOf(handle, part string) string { return handle + "/" + part }

// raisedSecrets are what is sensitive in a suspension.
type raisedSecrets struct {
	sealer Sealer
	// dataKey is empty until everything is sealed under it.
	dataKey string
	// masked and sealed are by approval; those without sensitive paths have none.
	masked []api.JSON
	sealed []api.JSON
	// sealedQuestions are by question.
	sealedQuestions []api.JSON
	callbacks       callbacks
	owner           string // of the callbacks
}

// secretsOf returns what is sensitive in a checked suspension, nil when nothing is. Errors:
// secrets_not_configured.
func secretsOf(s *api.Suspension, sealer Sealer) (*raisedSecrets, error) {
	found := sensitiveInputs(s) || hasCallbacks(s)
	for i := range s.Questions {
		found = found || model.Sensitive(&s.Questions[i])
	}
	switch {
	case !found:
		return nil, nil
	case sealer == nil:
		return nil, secretsNotConfigured()
	}
	return &raisedSecrets{sealer: sealer}, nil
}

func sensitiveInputs(s *api.Suspension) bool {
	for i := range s.Approvals {
		if len(s.Approvals[i].SensitivePaths) > 0 {
			return true
		}
	}
	return false
}

// suspensionDigest is the digest of a suspension with that canonical form, keyed when an input or a
// callback is not to be guessed.
func suspensionDigest(s *api.Suspension, canonical []byte, sealer Sealer) string {
	if !sensitiveInputs(s) && !hasCallbacks(s) {
		return document.DigestOfCanonical(canonical)
	}
	return keyedDigestPrefix + sealer.Fingerprint(canonical)
}

// seal encrypts the sensitive inputs and the callbacks of the suspension under a data key, and makes their digests with
// it. It may be called again with another one.
func (s *raisedSuspension) seal(dataKey string) error {
	secrets := s.secrets
	secrets.masked, secrets.sealed = make([]api.JSON, len(s.Approvals)), make([]api.JSON, len(s.Approvals))
	secrets.sealedQuestions = make([]api.JSON, len(s.Questions))
	for i, given := range secrets.callbacks.questions {
		var values model.SealedValues
		if given == nil {
			continue
		}
		if err := secrets.sealCallback(s.Questions[i].Handle, given, &values); err != nil {
			return err
		}
		secrets.sealedQuestions[i] = document.Encode(values)
	}
	for i := range s.Approvals {
		approval := &s.Approvals[i]
		var values model.SealedValues
		if secrets.callbacks.approvals != nil && secrets.callbacks.approvals[i] != nil {
			if err := secrets.sealCallback(approval.Handle, secrets.callbacks.approvals[i], &values); err != nil {
				return err
			}
			secrets.sealed[i] = document.Encode(values)
		}
		if len(approval.SensitivePaths) == 0 {
			continue
		}
		canonical, err := canonicalBody(approval.Input)
		if err != nil {
			return err
		}
		digest, err := secrets.sealer.Digest(dataKey, canonical)
		if err != nil {
			return err
		}
		input, err := secrets.sealer.Seal(dataKey, placeOf(approval.Handle, partInput), approval.Input)
		if err != nil {
			return err
		}
		s.inputDigests[i] = keyedDigestPrefix + digest
		approval.InputDigest = s.inputDigests[i]
		secrets.masked[i] = maskInput(approval.Input, approval.SensitivePaths)
		values.Input = input
		secrets.sealed[i] = document.Encode(values)
	}
	secrets.dataKey = dataKey
	return s.makeForms()
}

// maskInput returns an input without what the paths name.
func maskInput(input api.JSON, paths []string) api.JSON {
	for _, text := range paths {
		if path, ok := document.ParsePointer(text); ok {
			input = path.Replace(input, model.Masked)
		}
	}
	return input
}

// checkSealed returns ErrUnchecked when what the suspension raises is not sealed under the data key
// of the run.
func (s *raisedSuspension) checkSealed(run *model.Run) error {
	if s.secrets == nil || s.secrets.dataKey != "" && (run.DataKey == "" || run.DataKey == s.secrets.dataKey) {
		return nil
	}
	return ErrUnchecked
}

// checkSensitivePaths adds the faults of the sensitive paths of an approval.
func checkSensitivePaths(a *api.ApprovalRequest, at string, faults *refusal.Faults) {
	if len(a.SensitivePaths) > api.MaxSensitivePaths {
		faults.Add(at+"/sensitive_paths", "must have at most %d entries", api.MaxSensitivePaths)
		return
	}
	for i, text := range a.SensitivePaths {
		path, ok := document.ParsePointer(text)
		here := fmt.Sprintf("%s/sensitive_paths/%d", at, i)
		switch {
		case !ok || len(text) > api.MaxTextLength:
			faults.Add(here, "must be a JSON Pointer: empty, or names with a / before each")
		case a.Input != nil && path.At(a.Input) == nil:
			faults.Add(here, "names nothing in the input")
		}
	}
}

// checkedValues is what CheckValues found out about the values of a call, before any lock.
type checkedValues struct {
	verdicts valueVerdicts
	sealer   Sealer
	// decisions are by the handle of the request; only sensitive requests have one.
	decisions map[string]*sealedDecision
	// readAll looks at every request that the call names, because a decision met a sensitive one.
	readAll bool
	// above are the requesters of the sessions above, once a decision has needed them.
	above ancestors
	// keyed is canonical with a key; nil without a sealer.
	keyed []byte
	// brought has what is recorded of large values.
	brought broughtValues
}

// sealedDecision is a decision about a sensitive request, sealed.
type sealedDecision struct {
	// dataKey and base are the data key and what was sealed when it was made. They must still be those.
	dataKey string
	base    string
	sealed  api.JSON
	// updatedInput is masked; nil when there is none.
	updatedInput api.JSON
	faults       []api.Fault
}

// prepareKeyed makes the keyed form of what the fingerprint is made from. Which one is recorded is
// known only when the request is.
func (v *checkedValues) prepareKeyed(canonical []byte) {
	if v.sealer != nil && canonical != nil {
		v.keyed = document.Encode(v.sealer.Fingerprint(canonical))
	}
}

// decision returns what is to be recorded about a sensitive request. Errors: ErrUnchecked when it was
// not sealed, or for another state of the request; secrets_not_configured.
func (v *checkedValues) decision(run *model.Run, request *model.Request) (*sealedDecision, error) {
	if v.sealer == nil {
		return nil, secretsNotConfigured()
	}
	sealed := v.decisions[request.Handle]
	if sealed == nil || sealed.dataKey != run.DataKey || sealed.base != string(request.Sealed) {
		return nil, ErrUnchecked
	}
	return sealed, nil
}

// bringsSecrets reports whether an approval's decision has something that is masked when the approval
// has sensitive paths.
func (r *ApprovalDecision) bringsSecrets() bool {
	return r.UpdatedInput != nil || r.RuntimePayload != nil
}

// bringsSecrets reports whether an answer has something that is masked when the question is sensitive.
func (u *QuestionAnswer) bringsSecrets() bool {
	return len(u.Answers) > 0 || u.Value != nil || u.RuntimePayload != nil
}

// maskAnswer returns what is recorded of an answer to a sensitive question.
func maskAnswer(question *api.UserQuestionRequest, resolution api.Resolution) api.Resolution {
	resolution.Answers = model.MaskAnswers(question, resolution.Answers)
	if resolution.Value != nil {
		resolution.Value = model.Masked
	}
	if resolution.RuntimePayload != nil {
		resolution.RuntimePayload = model.Masked
	}
	return resolution
}
