package storetest

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Counter returns a source that makes the same identifiers every time.
func Counter() runs.IDSource {
	next := 0
	return func(prefix string) string {
		next++
		return fmt.Sprintf("%s_%06d", prefix, next)
	}
}

// Outcome is the answer to a command.
type Outcome struct {
	Reply runs.Reply
	Err   *refusal.Error
}

// OutcomeOf drops the parts of a reply that depend on how much was loaded: a claimed run's
// payload is in the Claim.
func OutcomeOf(reply runs.Reply, err error) Outcome {
	if reply.Run != nil {
		record := *reply.Run
		record.Run.Input, record.Run.Checkpoint, record.Run.CheckpointSet = nil, nil, false
		reply.Run = &record
	}
	result := Outcome{Reply: reply}
	if err != nil && !errors.As(err, &result.Err) {
		result.Err = &refusal.Error{Code: "none of the domain's", Detail: err.Error()}
	}
	return result
}

// Diff returns "" when two values are the same. Documents are compared as text. Versions of sessions, which are
// random, are not compared.
func Diff(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(model.Session{}, "Version"), cmp.FilterValues(
		func(a, b api.JSON) bool { return len(a) > 0 || len(b) > 0 },
		cmp.Transformer("text", func(j api.JSON) string { return string(j) }),
	))
}
