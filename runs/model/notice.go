package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// noticePrefix begins the webhook_id of the messages of a channel. No webhook has it.
const noticePrefix = "notify."

// NoticeWebhookID returns the webhook_id of the messages of a channel.
func NoticeWebhookID(channel string) string { return noticePrefix + channel }

// NoticeEffectID returns the id of the message that tells a person of a request.
func NoticeEffectID(channel, handle, principal string, step int64) string {
	return NoticeIDPrefix(channel) + fmt.Sprintf("%s:%d:%s", handle, step, PersonInID(principal))
}

// NextNoticeEffectID returns the id of the same message at another address of the person: the turn-th after the
// first. With turn 0 it is NoticeEffectID.
func NextNoticeEffectID(channel, handle, principal string, step, turn int64) string {
	id := NoticeEffectID(channel, handle, principal, step)
	if turn > 0 {
		id += fmt.Sprintf(":%d", turn)
	}
	return id
}

// NoticePlace is the place of a message among the messages about a request.
type NoticePlace struct {
	// Person is [PersonInID] of its person.
	Person string
	// Step and Turn are as in PersonNotice.
	Step, Turn int64
}

// Before reports whether another message to the same person took the place of this one.
func (p NoticePlace) Before(other NoticePlace) bool {
	return p.Step < other.Step || p.Step == other.Step && p.Turn < other.Turn
}

// PersonInID returns what the ids of the messages to a person have in place of the name.
func PersonInID(principal string) string {
	person := sha256.Sum256([]byte(principal))
	return hex.EncodeToString(person[:8])
}

// NoticeIDPrefix begins the ids of the messages of a channel about any request.
func NoticeIDPrefix(channel string) string { return EffectID(api.EffectNotify, channel+":") }

// PlaceOf returns the place in the id of a message of a channel about a request. It is false for a withdrawal and for
// every other id.
func PlaceOf(effectID, channel, handle string) (place NoticePlace, is bool) {
	rest, is := strings.CutPrefix(effectID, NoticeIDPrefix(channel)+handle+":")
	parts := strings.Split(rest, ":")
	if !is || len(parts) < 2 || len(parts) > 3 {
		return NoticePlace{}, false
	}
	place.Person = parts[1]
	place.Step, is = number(parts[0])
	if is && len(parts) == 3 {
		place.Turn, is = number(parts[2])
	}
	return place, is
}

func number(text string) (n int64, is bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// WithdrawalEffectID returns the id of the effect that withdraws the messages of a channel about a request.
func WithdrawalEffectID(channel, handle string) string {
	return EffectID(api.EffectNotify, channel+":"+handle+":withdraw")
}

// NoticeChannel returns the channel in the id of a message or of a withdrawal.
func NoticeChannel(effectID string) (channel string, is bool) {
	rest, is := strings.CutPrefix(effectID, EffectID(api.EffectNotify, ""))
	channel, _, _ = strings.Cut(rest, ":")
	return channel, is
}
