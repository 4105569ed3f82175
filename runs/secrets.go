package runs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Sealer encrypts sensitive values before they are stored (docs/security.md#sensitive-values). A data
// key is the stored text of a run's key, which is itself encrypted. Errors mean that a key is not
// configured, or that a text was not encrypted with it.
type Sealer interface {
	NewDataKey() string
	// Seal and Open must get the same place.
	Seal(dataKey, place string, plain []byte) (string, error)
	Open(dataKey, place, sealed string) ([]byte, error)
	// Digest returns a hexadecimal digest keyed with the data key.
	Digest(dataKey string, text []byte) (string, error)
	// Fingerprint returns a keyed digest that is the same for all runs. It identifies repeated calls.
	Fingerprint(text []byte) string
}

func secretsNotConfigured() *refusal.Error {
	return refusal.New(api.CodeSecretsNotConfigured, "something is marked sensitive, and the service has no key to encrypt it with")
}

// keyedDigestPrefix marks the digest of a sensitive input, which must not be guessable.
const keyedDigestPrefix = document.KeyedDigestPrefix

// The parts of a request that are sealed, each at its own place.
const (
	partInput    = "input"
	partDecision = "decision"
	partCallback = "callback"
)

func placeOf(handle, part string) string { return handle + "/" + part }

// raisedSecrets are the sensitive values and the callbacks of a suspension.
type raisedSecrets struct {
	sealer Sealer
	// values reports whether something is sealed under the run's data key. Each callback has a key of its own.
	values bool
	// dataKey is empty until every value is sealed under it.
	dataKey string
	// masked and sealed are parallel to Approvals; nil for those without sensitive paths.
	masked []api.JSON
	sealed []api.JSON
	// sealedQuestions is parallel to Questions.
	sealedQuestions []api.JSON
	// callbacks are keyed by the JSON pointers of their requests.
	callbacks map[string]*api.Callback
	owner     string // of the callbacks
}

// secretsOf returns the sensitive values and callbacks of a checked suspension, or nil. Errors:
// secrets_not_configured.
func secretsOf(s *api.Suspension, sealer Sealer) (*raisedSecrets, error) {
	values := sensitiveInputs(s)
	for i := range s.Questions {
		values = values || model.Sensitive(&s.Questions[i])
	}
	switch {
	case !values && !hasCallbacks(s):
		return nil, nil
	case sealer == nil:
		return nil, secretsNotConfigured()
	}
	return &raisedSecrets{sealer: sealer, values: values}, nil
}

func sensitiveInputs(s *api.Suspension) bool {
	return slices.ContainsFunc(s.Approvals, func(asked api.ApprovalRequest) bool { return len(asked.SensitivePaths) > 0 })
}

// suspensionDigest returns a suspension's digest. It is keyed if the suspension has sensitive inputs
// or callbacks, so that nobody can guess them.
func suspensionDigest(s *api.Suspension, canonical []byte, sealer Sealer) string {
	if !sensitiveInputs(s) && !hasCallbacks(s) {
		return document.DigestOfCanonical(canonical)
	}
	return keyedDigestPrefix + sealer.Fingerprint(canonical)
}

// seal encrypts the suspension's sensitive inputs and callbacks under a data key, and computes their
// digests. It may be called again with another key.
func (s *raisedSuspension) seal(dataKey string) error {
	secrets := s.secrets
	secrets.masked, secrets.sealed = make([]api.JSON, len(s.Approvals)), make([]api.JSON, len(s.Approvals))
	secrets.sealedQuestions = make([]api.JSON, len(s.Questions))
	for i := range s.Questions {
		given := secrets.callbacks[placeIn("", "questions", i)]
		if given == nil {
			continue
		}
		var values model.SealedValues
		if err := secrets.sealCallback(s.Questions[i].Handle, given, &values); err != nil {
			return err
		}
		secrets.sealedQuestions[i] = document.Encode(values)
	}
	for i := range s.Approvals {
		approval := &s.Approvals[i]
		var values model.SealedValues
		if given := secrets.callbacks[placeIn("", "approvals", i)]; given != nil {
			if err := secrets.sealCallback(approval.Handle, given, &values); err != nil {
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

// maskInput masks the values at the paths of an input.
func maskInput(input api.JSON, paths []string) api.JSON {
	for _, text := range outermost(paths) {
		if path, ok := document.ParsePointer(text); ok {
			input = path.Replace(input, model.Masked)
		}
	}
	return input
}

// outermost returns the paths that are not inside of another one: a value is masked and restored as a whole.
func outermost(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return slices.ContainsFunc(paths, func(outer string) bool { return strings.HasPrefix(path, outer+"/") })
	})
}

// checkSealed returns ErrUnchecked if the suspension's values are not sealed under the run's data key.
func (s *raisedSuspension) checkSealed(run *model.Run) error {
	if s.secrets == nil || s.secrets.dataKey != "" && (run.DataKey == "" || run.DataKey == s.secrets.dataKey) {
		return nil
	}
	return ErrUnchecked
}

// CheckSensitivePaths adds the faults of the sensitive paths of an approval. Its input is nil if it is
// absent, or masked: then a path may name nothing.
func CheckSensitivePaths(at string, paths []string, input api.JSON, faults *refusal.Faults) {
	if len(paths) > api.MaxSensitivePaths {
		faults.Add(at, "must have at most %d entries", api.MaxSensitivePaths)
		return
	}
	for i, text := range paths {
		path, ok := document.ParsePointer(text)
		here := fmt.Sprintf("%s/%d", at, i)
		switch {
		case !ok || len(text) > api.MaxTextLength:
			faults.Add(here, "must be a JSON Pointer: empty, or names with a / before each")
		case input != nil && path.At(input) == nil:
			faults.Add(here, "names nothing in the input")
		}
	}
}

// checkedValues are the results of CheckValues for a call, computed before any lock.
type checkedValues struct {
	verdicts valueVerdicts
	sealer   Sealer
	// decisions are keyed by request handle; only sensitive requests have one.
	decisions map[string]*sealedDecision
	// readAll reads every request that the call names, because one of them is sensitive.
	readAll bool
	// above are the requesters of the ancestor sessions, once a decision has needed them.
	above ancestors
	// keyed is canonical in keyed form; nil without a sealer.
	keyed []byte
	// brought has the encoded forms of large values.
	brought broughtValues
}

// sealedDecision is an encrypted decision about a sensitive request.
type sealedDecision struct {
	// dataKey and base are the run's data key and the request's sealed values at sealing. They must be unchanged.
	dataKey string
	base    string
	sealed  api.JSON
	// updatedInput is the masked edited input; nil when there is none.
	updatedInput api.JSON
	faults       []api.Fault
}

// prepareKeyed computes the keyed form of the fingerprint's body. Only the decision knows which form
// to record.
func (v *checkedValues) prepareKeyed(canonical []byte) {
	if v.sealer != nil && canonical != nil {
		v.keyed = document.Encode(v.sealer.Fingerprint(canonical))
	}
}

// decision returns the encrypted decision about a sensitive request. Errors: ErrUnchecked when there is
// none, or when the request has changed since; secrets_not_configured.
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

// bringsSecrets reports whether a decision has values to mask when the approval has sensitive paths.
func (r *ApprovalDecision) bringsSecrets() bool {
	return r.UpdatedInput != nil || r.RuntimePayload != nil
}

// bringsSecrets reports whether an answer has values to mask when the question is sensitive.
func (u *QuestionAnswer) bringsSecrets() bool {
	return len(u.Answers) > 0 || u.Value != nil || u.RuntimePayload != nil
}

// maskAnswer masks an answer to a sensitive question for the record.
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
