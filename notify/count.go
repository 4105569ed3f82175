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
	// and ends with countsAll if it counts all requests. Earlier versions wrote only the ids.
	MessageIDs string
}

const countsAll = "+"

// countedMessage is a message in a NoticeCount.
type countedMessage struct {
	id   string
	atMs int64
	all  bool // it counts all requests
}

func (m *countedMessage) text() string {
	text := m.id + "=" + strconv.FormatInt(m.atMs, 10)
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
				one = countedMessage{id: timed[:i], atMs: atMs, all: all}
			}
		}
		if one.atMs > nowMs-api.FloodMs && one.atMs <= nowMs+api.FloodMs {
			found = append(found, one)
		}
	}
	return found
}

// Count counts a message. It returns the row that takes the place of this one, nil if it stays, and the number of
// [Store.CountNotice].
func (c *NoticeCount) Count(messageID string, nowMs int64) (after *NoticeCount, number int64) {
	counted := c.within(nowMs)
	single, all := int64(0), false
	for i := range counted {
		number = api.FloodMessages + 1
		if counted[i].all {
			all = true
		} else {
			single++
			number = single
		}
		if counted[i].id == messageID {
			return nil, number
		}
	}
	one := countedMessage{id: messageID, atMs: nowMs}
	switch {
	case single < api.FloodMessages:
		number = single + 1
	case all:
		return nil, 0
	default:
		one.all, number = true, api.FloodMessages+1
	}
	return countOf(append(counted, one)), number
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
