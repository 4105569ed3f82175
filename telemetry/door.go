package telemetry

import (
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/door"
)

// Door observes a door. It is safe for concurrent use.
type Door struct {
	commands     *prometheus.CounterVec
	lapses       prometheus.Counter
	laneWait     prometheus.Histogram
	transactions *prometheus.HistogramVec
	batch        prometheus.Histogram
	events       *prometheus.CounterVec
	raised       *prometheus.CounterVec
	decisions    *prometheus.CounterVec
	waited       *prometheus.HistogramVec
	lost         prometheus.Counter
	notReached   *prometheus.CounterVec
	faces        []string // vias of faces

	// Children of the vectors by their labels: a look-up costs more than counting.
	byCommand children[commandKey, prometheus.Counter]
	byResult  children[resultKey, prometheus.Observer]
	byEvent   children[api.EventType, prometheus.Counter]
	byRaised  children[model.RequestKind, prometheus.Counter]
	byWaited  children[waitedKey, prometheus.Observer]
}

var _ door.Observer = (*Door)(nil)

type (
	commandKey struct {
		command reflect.Type
		result  string
	}
	resultKey struct {
		result door.Result
		read   bool
	}
	waitedKey struct {
		kind    model.RequestKind
		outcome api.Outcome
	}
)

func newDoor(faces []string) *Door {
	d := &Door{
		faces:        faces,
		commands:     counters("commands_total", "Commands by how they were answered: done, error, or the code of their refusal.", "command", "result"),
		lapses:       counter("lease_lapses_total", "Claims of runs whose lease before had lapsed."),
		laneWait:     histogram("lane_wait_seconds", "How long commands waited until their batch began.", laneBuckets),
		transactions: histograms("transaction_seconds", "How long transactions took, by how they ended and whether they read rows.", laneBuckets, "result", "read"),
		batch:        histogram("batch_commands", "How many commands a transaction had.", []float64{1, 2, 4, 8, 16, 32, 64, 128}),
		events:       counters("events_total", "Events that this process has committed.", "type"),
		raised:       counters("requests_raised_total", "Requests that runs have raised.", "kind"),
		decisions:    counters("decisions_total", "Requests that were settled, by outcome and by the way on which the decision came.", "kind", "outcome", "via"),
		waited:       histograms("decision_wait_seconds", "How long settled requests had waited.", humanBuckets, "kind", "outcome"),
		lost:         counter("lost_sessions_total", "Sessions of which the database was found to have less than callers were told of."),
		notReached:   newNotReached(),
	}
	for _, read := range []string{"no", "yes"} {
		d.transactions.WithLabelValues(string(door.ResultFailed), read) // there from the start, so that an alert sees the first one
	}
	return d
}

func (d *Door) collectors() []prometheus.Collector {
	return []prometheus.Collector{d.commands, d.lapses, d.laneWait, d.transactions, d.batch, d.events, d.raised, d.decisions, d.waited, d.lost, d.notReached}
}

// Answered implements [door.Observer].
func (d *Door) Answered(command runs.Command, reply runs.Reply, err error, _ time.Duration) {
	result := "done"
	if err != nil {
		if result = string(refusal.CodeOf(err)); result == "" {
			result = "error"
		}
	}
	key := commandKey{reflect.TypeOf(command), result}
	d.byCommand.of(key, func() prometheus.Counter {
		return d.commands.WithLabelValues(strings.TrimPrefix(key.command.String(), "*runs."), result)
	}).Inc()
	if err == nil && reply.Lapsed {
		d.lapses.Inc()
	}
}

// Began implements [door.Observer].
func (d *Door) Began(waited time.Duration) { d.laneWait.Observe(waited.Seconds()) }

// Ended implements [door.Observer].
func (d *Door) Ended(t door.Transaction) {
	key := resultKey{t.Result, t.Read}
	d.byResult.of(key, func() prometheus.Observer {
		read := "no"
		if key.read {
			read = "yes"
		}
		return d.transactions.WithLabelValues(string(key.result), read)
	}).Observe(t.Took.Seconds())
	d.batch.Observe(float64(t.Commands))
}

// typeLabel returns the type of an event as a label: workers choose the types of the events that they append.
func typeLabel(event api.EventType) api.EventType {
	if event == api.EventOutput || model.ByService(event) {
		return event
	}
	return otherLabel
}

// Committed implements [door.Observer].
func (d *Door) Committed(changes []runs.Change) {
	for i := range changes {
		change := &changes[i]
		for _, event := range change.Events {
			label := typeLabel(event.Type)
			d.byEvent.of(label, func() prometheus.Counter { return d.events.WithLabelValues(string(label)) }).Inc()
			if event.Type == api.EventRequestNotified {
				d.notified(event.Body)
			}
		}
		for _, request := range change.NewRequests {
			d.byRaised.of(request.Kind, func() prometheus.Counter { return d.raised.WithLabelValues(string(request.Kind)) }).Inc()
		}
		for _, list := range [][]*model.Request{change.NewRequests, change.SettledRequests} {
			for _, request := range list {
				if !request.Open() {
					d.settled(request)
				}
			}
		}
	}
}

// Lost implements [door.Observer].
func (d *Door) Lost(sessions int) { d.lost.Add(float64(sessions)) }

// largeResolution is the size from which a resolution is not parsed on a lane.
const largeResolution = 8 << 10

func (d *Door) settled(request *model.Request) {
	if len(request.Resolution) > largeResolution {
		go d.count(request)
		return
	}
	d.count(request)
}

func (d *Door) count(request *model.Request) {
	d.decisions.WithLabelValues(string(request.Kind), string(request.Outcome), d.viaLabel(request)).Inc()
	d.byWaited.of(waitedKey{request.Kind, request.Outcome}, func() prometheus.Observer {
		return d.waited.WithLabelValues(string(request.Kind), string(request.Outcome))
	}).Observe(float64(request.SettledAtMs-request.CreatedAtMs) / 1000)
}

// children caches the children of a vector by their labels.
type children[K comparable, C any] struct{ known sync.Map }

func (c *children[K, C]) of(key K, create func() C) C {
	if found, there := c.known.Load(key); there {
		return found.(C)
	}
	made := create()
	c.known.Store(key, made)
	return made
}
