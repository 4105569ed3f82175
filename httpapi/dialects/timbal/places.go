package timbal

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/holdpoint/holdpoint/runs/model"
)

const (
	// placedSegments is the maximum number of segments with cached places.
	placedSegments = 2_000
	// placesOfSegment is the maximum number of places of a segment. Beyond it, every second one is
	// dropped.
	placesOfSegment = 256
)

// place is a position in a segment: the number of its last frame, and the last event before it. A
// segment that has paused or ended has none.
type place struct{ seq, eventID int64 }

// outline is a cached segment, so that reading it page by page does not fold earlier pages again.
type outline struct {
	parentID    string
	startedAtMs int64
	places      []place // by seq
}

// outlines caches the recently requested segments. It only saves work: the same log always gives
// the same frames.
type outlines struct {
	mu    sync.Mutex
	cache *lru.Cache[outlineKey, *outline]
}

// outlineKey identifies a segment. The time distinguishes runs that had the same id, of which the
// earlier was deleted.
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

// before returns the last cached place of a segment at or before a frame, with the outline's
// members.
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

// note caches the position of a segment.
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
