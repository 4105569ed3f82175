// Package load translates the needs of a batch's commands (runs.Needs) into database queries,
// and the results into states. The table in questions.go defines how each need selects rows and
// where they go; an engine adds the statement of each question. It must not know a driver or a
// dialect.
package load

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/door"
)

// States are the states of the sessions of one batch.
type States struct {
	loads []door.Load
	of    map[string]*runs.State
	// loaded are the sessions' rows as read.
	loaded map[string]*model.Session
	// locked are existing sessions that another transaction has locked.
	locked map[string]bool
}

// New returns the states of the sessions of the loads, without rows.
func New(loads []door.Load) *States {
	s := &States{
		loads: loads, of: make(map[string]*runs.State, len(loads)), loaded: make(map[string]*model.Session, len(loads)),
	}
	for i := range loads {
		s.of[loads[i].SessionID] = runs.NewState(loads[i].SessionID)
	}
	return s
}

// State returns the state of one of the sessions, nil for any other and for one that
// another transaction has locked.
func (s *States) State(sessionID string) *runs.State {
	if s.locked[sessionID] {
		return nil
	}
	return s.of[sessionID]
}

// Missing returns the sessions without a loaded row, except those whose ids were generated for
// the commands: they do not exist.
func (s *States) Missing() []string {
	var missing []string
	for i := range s.loads {
		load := &s.loads[i]
		made := func(n runs.Needs) bool { return n.NewSession }
		if s.loaded[load.SessionID] == nil && !slices.ContainsFunc(load.Needs, made) {
			missing = append(missing, load.SessionID)
		}
	}
	return missing
}

// There records that a session exists, even if its row was not loaded. Call it after loading the
// rows, for each session found then: one without a loaded row is locked by another transaction,
// or was created meanwhile.
func (s *States) There(sessionID string) {
	if s.loaded[sessionID] == nil {
		if s.locked == nil {
			s.locked = map[string]bool{}
		}
		s.locked[sessionID] = true
	}
}

// Amended returns the sessions whose metadata, about or life changed since the read.
func (s *States) Amended(updated []*model.Session) []*model.Session {
	return Amended(s.loaded, updated)
}

// Amended returns the sessions whose metadata, about or life differs from their rows before.
func Amended(before map[string]*model.Session, updated []*model.Session) []*model.Session {
	var amended []*model.Session
	for _, session := range updated {
		if loaded := before[session.SessionID]; loaded == nil || loaded.Life != session.Life || !bytes.Equal(loaded.Metadata, session.Metadata) ||
			!bytes.Equal(loaded.About, session.About) {
			amended = append(amended, session)
		}
	}
	return amended
}

// Ask calls ask with each needed question, in the required order, and with its lists of keys.
// The rows go to read. It returns the first error.
func (s *States) Ask(ask func(question string, lists []Keys, read func(columns.Rows) error) error) error {
	keys := &collector{}
	add := keys.add
	for i := range Questions {
		q := &Questions[i]
		leading := s.keys(&q.Keys[0], keys, add)
		if len(leading.tuples) == 0 {
			continue
		}
		lists := []Keys{leading}
		for n := range q.Keys[1:] {
			lists = append(lists, s.keys(&q.Keys[n+1], keys, add))
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
const maxParts = 4

type tuple [maxParts]string

// collector gathers the tuples of one list, each once.
type collector struct {
	tuples []tuple
	// seen indexes the tuples once there are many.
	seen map[tuple]struct{}
}

func (c *collector) add(key tuple) {
	const many = 16
	if len(c.tuples) < many {
		if !slices.Contains(c.tuples, key) {
			c.tuples = append(c.tuples, key)
		}
		return
	}
	if c.seen == nil {
		c.seen = make(map[tuple]struct{}, 2*many)
		for _, earlier := range c.tuples {
			c.seen[earlier] = struct{}{}
		}
	}
	if _, there := c.seen[key]; !there {
		c.seen[key] = struct{}{}
		c.tuples = append(c.tuples, key)
	}
}

// keys returns the list of one kind. add must be the method of the collector.
func (s *States) keys(k *Key, c *collector, add func(tuple)) Keys {
	*c = collector{}
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
	return Keys{parts: k.Parts, tuples: c.tuples}
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
