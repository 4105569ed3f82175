package notify

import (
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// NoticeCount is a row of notice_counts: the messages to a person that count.
type NoticeCount struct {
	// SinceMs is when the oldest message was counted, and Sent how many there are.
	SinceMs, Sent int64
	// MessageIDs has the messages, oldest first, separated by spaces. Each is an id, "=" and the time when it was counted,
	// and ends with countsAll if it counts all requests; the id then ends with isUrgent if quiet hours do not hold the message.
	// Earlier versions wrote only the ids.
	MessageIDs string
}

const (
	countsAll = "+"
	isUrgent  = "!"
)

// aheadMs is how much later than the clock a count may be dated.
const aheadMs = 60_000

// countedMessage is a message in a NoticeCount.
type countedMessage struct {
	id   string
	atMs int64
	all  bool // it counts all requests
	// urgent says that it counts all requests, and waits for no quiet hours.
	urgent bool
}

func (m *countedMessage) text() string {
	text := m.id
	if m.urgent {
		text += isUrgent
	}
	text += "=" + strconv.FormatInt(m.atMs, 10)
	if m.all {
		text += countsAll
	}
	return text
}

// within returns the messages of the last api.FloodMs. It leaves out messages of a clock that was far ahead.
func (c *NoticeCount) within(nowMs int64) (found []countedMessage) {
	for n, text := range strings.Fields(c.MessageIDs) {
		one := countedMessage{id: text, atMs: c.SinceMs, all: n >= api.FloodMessages}
		timed, all := strings.CutSuffix(text, countsAll)
		if i := strings.LastIndexByte(timed, '='); i >= 0 {
			if atMs, err := strconv.ParseInt(timed[i+1:], 10, 64); err == nil {
				id, urgent := strings.CutSuffix(timed[:i], isUrgent)
				one = countedMessage{id: id, atMs: atMs, all: all, urgent: urgent}
			}
		}
		if one.atMs > nowMs-api.FloodMs && one.atMs <= nowMs+api.FloodMs {
			found = append(found, one)
		}
	}
	return found
}

// NoticeToCount is a message that is about to be sent.
type NoticeToCount struct {
	// ID is the same for each attempt, and has no spaces.
	ID string
	// RaisedAtMs is when its request was raised. A message that counted all requests after that has told of it.
	RaisedAtMs int64
	// Held says that the message was held back before, because a message that counts all requests was sent. One message
	// that counts all stands for the held ones, unless the request is Alone: the person has no other open one.
	Held, Alone bool
	// Urgent says that quiet hours do not hold the message. A count that they may hold does not stand for it.
	Urgent bool
	// Flood is the row of the message until it is sent, if it counts all requests. It is written together with the count: once
	// others are left out, the message must be sent even if its own request is settled. With nil no row is written.
	Flood *SentMessage
}

// Count counts a message. It returns the row that takes the place of this one, nil if it stays, and the number and the
// time of [Store.CountNotice].
func (c *NoticeCount) Count(n *NoticeToCount, nowMs int64) (after *NoticeCount, number, holdMs int64) {
	counted := c.within(nowMs)
	single, allAtMs := int64(0), int64(0)
	for i := range counted {
		number = api.FloodMessages + 1
		if one := &counted[i]; one.all {
			if one.urgent || !n.Urgent {
				allAtMs = max(allAtMs, one.atMs)
			}
		} else {
			single++
			number = single
		}
		if counted[i].id == n.ID {
			return nil, number, 0
		}
	}
	one := countedMessage{id: n.ID, atMs: nowMs}
	// A message that was counted at the same time may be dated a little later. After a clock was set back, what is dated much
	// later tells of no request that is raised then.
	told := allAtMs != 0 && allAtMs <= nowMs+aheadMs && n.RaisedAtMs <= allAtMs
	switch {
	case n.Held && told:
		return nil, 0, 0
	case single < api.FloodMessages && (!n.Held || n.Alone || allAtMs != 0):
		number = single + 1
	case allAtMs == 0:
		one.all, one.urgent, number = true, n.Urgent, api.FloodMessages+1
	case told:
		return nil, 0, 0
	default:
		return nil, 0, allAtMs + api.FloodMs - nowMs
	}
	return countOf(append(counted, one)), number, 0
}

func countOf(counted []countedMessage) *NoticeCount {
	row := &NoticeCount{SinceMs: counted[0].atMs, Sent: int64(len(counted))}
	texts := make([]string, len(counted))
	for i := range counted {
		row.SinceMs = min(row.SinceMs, counted[i].atMs)
		texts[i] = counted[i].text()
	}
	row.MessageIDs = strings.Join(texts, " ")
	return row
}
