// Package load turns what the commands of a batch need (runs.Needs) into questions to a
// database, and their answers into states. The table in questions.go is the one place
// that says how each need names rows and where the rows go; an engine adds the statement
// of each question. It must not know a driver or a dialect.
package load

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/committer"
)

// States are the states of the sessions of one batch.
type States struct {
	loads []committer.Load
	of    map[string]*runs.State
	// loaded are the rows of sessions as they were read.
	loaded map[string]*model.Session
}

// New returns the states of the sessions of the loads, without rows.
func New(loads []committer.Load) *States {
	s := &States{
		loads: loads, of: make(map[string]*runs.State, len(loads)), loaded: make(map[string]*model.Session, len(loads)),
	}
	for i := range loads {
		s.of[loads[i].SessionID] = runs.NewState(loads[i].SessionID)
	}
	return s
}

// State returns the state of one of the sessions, nil for any other.
func (s *States) State(sessionID string) *runs.State { return s.of[sessionID] }

// Amended returns the sessions whose metadata is no longer what was read.
func (s *States) Amended(updated []*model.Session) []*model.Session {
	var amended []*model.Session
	for _, session := range updated {
		if loaded := s.loaded[session.SessionID]; loaded == nil || !bytes.Equal(loaded.Metadata, session.Metadata) {
			amended = append(amended, session)
		}
	}
	return amended
}

// Ask calls ask with each question that somebody needs answered, in the order in which
// they must be asked, and with its lists of keys. The rows go to read. It stops at the
// first error and returns it.
func (s *States) Ask(ask func(question string, lists []Keys, read func(columns.Rows) error) error) error {
	for i := range Questions {
		q := &Questions[i]
		lists := make([]Keys, len(q.Keys))
		for n := range lists {
			lists[n] = s.keys(&q.Keys[n])
		}
		if len(lists[0].tuples) == 0 {
			continue
		}
		if err := ask(q.Name, lists, func(rows columns.Rows) error { return q.read(s, rows) }); err != nil {
			return err
		}
	}
	return nil
}

// Keys is a list of keys, each of the same number of parts and each once.
type Keys struct {
	parts  int
	tuples []tuple
}

// maxParts is how many parts a key has at most.
const maxParts = 3

type tuple [maxParts]string

func (s *States) keys(k *Key) Keys {
	list := Keys{parts: k.Parts}
	var seen map[tuple]struct{}
	add := func(key tuple) {
		if _, there := seen[key]; there {
			return
		}
		if seen == nil {
			seen = map[tuple]struct{}{}
		}
		seen[key] = struct{}{}
		list.tuples = append(list.tuples, key)
	}
	for i := range s.loads {
		load := &s.loads[i]
		if k.ofSession != nil {
			k.ofSession(load, add)
			continue
		}
		for n := range load.Needs {
			k.ofNeeds(load.SessionID, &load.Needs[n], add)
		}
	}
	return list
}

// Columns returns the list as one array for each part.
func (k Keys) Columns() []any {
	parts := make([]any, k.parts)
	for part := range parts {
		column := make([]string, len(k.tuples))
		for i := range k.tuples {
			column[i] = k.tuples[i][part]
		}
		parts[part] = column
	}
	return parts
}

// JSON returns the list as a JSON array of arrays.
func (k Keys) JSON() (string, error) {
	list := make([][]string, len(k.tuples))
	for i := range k.tuples {
		list[i] = k.tuples[i][:k.parts]
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "", fmt.Errorf("encode keys: %w", err)
	}
	return string(text), nil
}
