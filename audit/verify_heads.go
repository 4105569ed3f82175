package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// headsAtOnce is the maximum number of checkpoint heads compared in one pass over the file.
const headsAtOnce = 500_000

// signedHeads is the state of the checkpoint verification.
type signedHeads struct {
	number int64  // of the last checkpoint
	hash   string // of it
	heads  int64
}

// sessionLife distinguishes the sessions that had the same id. The life is "" in checkpoints
// without lives.
type sessionLife struct{ session, life string }

// headPlace identifies an event.
type headPlace struct {
	sessionLife
	id int64
}

// headAt is a checkpoint's statement about an event.
type headAt struct {
	hash       string
	checkpoint int64
}

// readCheckpoint checks a checkpoint's signature and its position among the others.
func (v *verifier) readCheckpoint(text string) error {
	if v.open {
		return v.broken("lines of %s are missing before it", chainCalled(v.session))
	}
	payload, err := v.keys.Verify(checkpointPurpose, text)
	if err != nil {
		return v.broken("%s", err)
	}
	var c checkpoint
	if err := json.Unmarshal(payload, &c); err != nil {
		return v.broken("it is of another version of this program")
	}
	s := &v.signed
	follows := c.Number == s.number+1
	switch {
	case v.report.Checkpoints == 0:
		// With since_ms, or for one session, the first checkpoints may be missing.
		if !follows && v.report.SessionID == "" && v.report.SinceMs == 0 {
			return v.broken("it is checkpoint %d, and checkpoint 1 is missing before it", c.Number)
		}
	case c.Number <= s.number:
		return v.broken("checkpoint %d appears twice, or lines were reordered", c.Number)
	case !follows && v.report.SessionID == "":
		return v.broken("checkpoint %d is missing before it", s.number+1)
	case follows && c.Prev != s.hash:
		return v.broken("checkpoint %d does not follow the one before it: one of the two was replaced", c.Number)
	}
	v.report.Checkpoints++
	s.number, s.hash = c.Number, hashOf(text)
	s.heads += int64(len(c.Heads))
	return nil
}

// compareHeads checks that the export contains the events that its checkpoints name. Everything
// else was verified before.
func (v *verifier) compareHeads(file io.ReadSeeker) error {
	for from := int64(0); from < v.signed.heads; from += headsAtOnce {
		heads, newest, err := v.collectHeads(file, from)
		if err == nil {
			err = v.compare(file, heads, newest)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// collectHeads reads up to headsAtOnce heads, starting with number from, and the greatest id of
// each session.
func (v *verifier) collectHeads(file io.ReadSeeker, from int64) (heads map[headPlace]headAt, newest map[sessionLife]newestHead, err error) {
	heads, newest = map[headPlace]headAt{}, map[sessionLife]newestHead{}
	seen := int64(0)
	err = eachLine(file, func(number int64, text []byte) error {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return err
		}
		if l.Checkpoint == "" || seen >= from+headsAtOnce {
			return nil
		}
		payload, err := v.keys.Verify(checkpointPurpose, l.Checkpoint)
		if err != nil {
			return err
		}
		var c checkpoint
		if err := json.Unmarshal(payload, &c); err != nil {
			return err
		}
		for _, chain := range slices.Sorted(maps.Keys(c.Heads)) {
			head := c.Heads[chain]
			if seen++; seen <= from || seen > from+headsAtOnce {
				continue
			}
			session, isSession := strings.CutPrefix(chain, sessionChain)
			if chain == logChain {
				session, isSession = "", true
			}
			id, err := strconv.ParseInt(head.ID, 10, 64)
			if !isSession || err != nil {
				return fmt.Errorf("checkpoint %d is of another version of this program", c.Number)
			}
			place := headPlace{sessionLife{session, head.Life}, id}
			if known, twice := heads[place]; twice && known.hash != head.Hash {
				return &BrokenError{number, fmt.Sprintf("checkpoints %d and %d name event %d of %s with two hashes: the log was rewritten in between",
					known.checkpoint, c.Number, id, chainCalled(session))}
			}
			heads[place] = headAt{head.Hash, c.Number}
			if newest[place.sessionLife].id < id {
				newest[place.sessionLife] = newestHead{id, c.Number}
			}
		}
		return nil
	})
	return heads, newest, err
}

// newestHead is a session's newest event that a checkpoint names.
type newestHead struct{ id, checkpoint int64 }

// compare reads the events and compares them with the heads.
func (v *verifier) compare(file io.ReadSeeker, heads map[headPlace]headAt, newest map[sessionLife]newestHead) error {
	lives := map[string][]string{}
	for one := range newest {
		lives[one.session] = append(lives[one.session], one.life)
	}
	var life string // of the current chain
	var young func(timestampMs int64) error
	return eachLine(file, func(number int64, text []byte) error {
		var l struct {
			Chain       *chainLine `json:"chain"`
			End         *endLine   `json:"end"`
			ID          string     `json:"id"`
			SessionID   string     `json:"session_id"`
			TimestampMs int64      `json:"timestamp_ms"`
			Hash        string     `json:"hash"`
			Trailer     string     `json:"trailer"`
		}
		if err := json.Unmarshal(text, &l); err != nil {
			return err
		}
		switch {
		case l.Trailer != "":
			return v.countAbsent(number, heads, newest)
		case l.Chain != nil:
			life = l.Chain.Life
			failed := v.compareLives(number, l.Chain, lives[l.Chain.SessionID], newest)
			if failed == nil || !l.Chain.Young || v.report.SessionID != "" {
				return failed
			}
			young = func(timestampMs int64) error { return v.excuse(l.Chain.SessionID, timestampMs, failed) }
		case l.End != nil:
			last, err := strconv.ParseInt(l.End.LastID, 10, 64)
			for _, one := range []sessionLife{{l.End.SessionID, life}, {l.End.SessionID, ""}} {
				if signed := newest[one]; err == nil && signed.id > last {
					return &BrokenError{number, fmt.Sprintf("event %d of %s, which checkpoint %d names, is missing before it: the log was cut off",
						signed.id, chainCalled(l.End.SessionID), signed.checkpoint)}
				}
				delete(newest, one)
			}
		case l.ID != "":
			if young != nil {
				if err := young(l.TimestampMs); err != nil {
					return err
				}
				young = nil
			}
			id, err := strconv.ParseInt(l.ID, 10, 64)
			if err != nil {
				return err
			}
			for _, known := range slices.Compact([]string{life, ""}) {
				signed, is := heads[headPlace{sessionLife{l.SessionID, known}, id}]
				if !is {
					continue
				}
				if signed.hash != l.Hash {
					return &BrokenError{number, fmt.Sprintf("event %d of %s is not the one that checkpoint %d names: it, or one before it, was changed and the hashes were recomputed",
						id, chainCalled(l.SessionID), signed.checkpoint)}
				}
				v.report.Signed++
			}
		}
		return nil
	})
}

// compareLives checks that the audit log records the deletion of earlier sessions with a chain's id
// that checkpoints name. An export of one session has no audit log: only a session without hashes is
// refused there, because hashes are never lost.
func (v *verifier) compareLives(number int64, c *chainLine, lives []string, newest map[sessionLife]newestHead) error {
	for _, life := range lives {
		one := sessionLife{c.SessionID, life}
		switch {
		case life == "" || life == c.Life:
		case v.report.SessionID == "" && !v.deleted[one]:
			return &BrokenError{number, fmt.Sprintf("checkpoint %d names event %d of %s with another first event, but no entry says that the session was deleted: the log was rewritten",
				newest[one].checkpoint, newest[one].id, chainCalled(c.SessionID))}
		case v.report.SessionID != "" && c.Life == "":
			return &BrokenError{number, fmt.Sprintf("checkpoint %d names event %d of %s, whose first event had a hash, but the session has none: its hashes were removed",
				newest[one].checkpoint, newest[one].id, chainCalled(c.SessionID))}
		}
	}
	return nil
}

// excuse returns nil for a session that began while the export was written, and the failure of its lives
// for a first event that is dated later.
func (v *verifier) excuse(sessionID string, timestampMs int64, failed error) error {
	if timestampMs > v.report.EndMs {
		return failed
	}
	if v.young == nil {
		v.young = map[string]bool{}
	}
	v.young[sessionID] = true
	v.report.Young = int64(len(v.young))
	return nil
}

// countAbsent counts the heads whose sessions are not in the export, and names the sessions whose deletion is
// not in the audit log.
func (v *verifier) countAbsent(number int64, heads map[headPlace]headAt, newest map[sessionLife]newestHead) error {
	if log, absent := newest[sessionLife{}]; absent && v.report.SessionID == "" {
		return &BrokenError{number, fmt.Sprintf("the audit log, of which checkpoint %d names event %d, is missing before it", log.checkpoint, log.id)}
	}
	for place := range heads {
		if _, absent := newest[place.sessionLife]; absent && (v.report.SessionID == "" || v.report.SessionID == place.session) {
			v.report.Absent++
		}
	}
	for one := range newest {
		// Without a life it is of a version that did not record deletions. With since_ms, older sessions are left out.
		if one.life == "" || v.report.SessionID != "" || v.report.SinceMs != 0 || v.deleted[one] || v.young[one.session] {
			continue
		}
		v.report.Missing = append(v.report.Missing, one.session)
	}
	// A session may have had several lives, and heads in several passes.
	slices.Sort(v.report.Missing)
	v.report.Missing = slices.Compact(v.report.Missing)
	return nil
}

// eachLine reads the file from the beginning.
func eachLine(file io.ReadSeeker, take func(number int64, text []byte) error) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(file, 64<<10)
	for number := int64(1); ; number++ {
		text, err := readLine(lines)
		if len(text) > 0 {
			if failed := take(number, text); failed != nil {
				return failed
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
