package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// noticePrefix begins the webhook_id of the messages of a channel. No webhook has it.
const noticePrefix = "notify."

// NoticeWebhookID returns the webhook_id of the messages of a channel.
func NoticeWebhookID(channel string) string { return noticePrefix + channel }

// NoticeEffectID returns the id of the message that tells a person of a request.
func NoticeEffectID(channel, handle, principal string, step int64) string {
	person := sha256.Sum256([]byte(principal))
	return EffectID(api.EffectNotify, fmt.Sprintf("%s:%s:%d:%s", channel, handle, step, hex.EncodeToString(person[:8])))
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
