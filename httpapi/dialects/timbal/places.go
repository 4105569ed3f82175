package timbal

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/holdpoint/holdpoint/runs/model"
)

const (
	// placedSegments is of how many segments a process knows places.
	placedSegments = 2_000
	// placesOfSegment is how many of each. When there are more, every second one is forgotten.
	placesOfSegment = 256
)

// place is how far a segment was folded: the number of its last frame, and the last event before
// it. A segment that has paused or ended has none.
type place struct{ seq, eventID int64 }

// outline is a segment that was read before, so that whoever reads it page by page has each page
// folded once.
type outline struct {
	parentID    string
	startedAtMs int64
	places      []place // by seq
}

// outlines are those of the segments that this process was asked for last. They only save work:
// the same log always makes the same frames.
type outlines struct {
	mu    sync.Mutex
	cache *lru.Cache[outlineKey, *outline]
}

// outlineKey names a segment. A run that is made after another with its id was deleted is told
// apart by its time.
type outlineKey struct {
	segmentID     string
	submittedAtMs int64
}

func keyOf(id segmentID, record *model.RunRecord) outlineKey {
	return outlineKey{id.String(), record.Run.SubmittedAtMs}
}

func newOutlines() *outlines {
	cache, err := lru.New[outlineKey, *outline](placedSegments)
	if err != nil {
		panic("timbal: " + err.Error()) // only for a size that is not positive
	}
	return &outlines{cache: cache}
}

// before returns the last place of a segment that is not after a frame, with the members of its
// outline.
func (o *outlines) before(key outlineKey, seq int64) (known outline, at place, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	one, found := o.cache.Get(key)
	if !found {
		return outline{}, place{}, false
	}
	for i := len(one.places) - 1; i >= 0; i-- {
		if one.places[i].seq <= seq {
			return outline{parentID: one.parentID, startedAtMs: one.startedAtMs}, one.places[i], true
		}
	}
	return outline{}, place{}, false
}

// note remembers how far a segment was folded.
func (o *outlines) note(key outlineKey, s *segment) {
	if s.raising || s.ended || s.log.lastEventID == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	one, found := o.cache.Get(key)
	if !found {
		one = &outline{parentID: s.parentID, startedAtMs: s.startedAtMs}
		o.cache.Add(key, one)
	}
	if count := len(one.places); count > 0 && one.places[count-1].seq >= s.seq {
		return
	}
	if len(one.places) == placesOfSegment {
		kept := one.places[:0]
		for i := 1; i < placesOfSegment; i += 2 {
			kept = append(kept, one.places[i])
		}
		one.places = kept
	}
	one.places = append(one.places, place{s.seq, s.log.lastEventID})
}
