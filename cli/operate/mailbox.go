package operate

import (
	"context"
	"strconv"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/prompt"
)

// Mailbox is the command holdpoint mailbox.
type Mailbox struct {
	List        mailboxList                              `cmd:"" help:"Receive a session's messages in place of its worker: each is leased for 30 s and can be received three times."`
	DeadLetters list[api.MessageView, deadLettersFilter] `cmd:"" name:"dead-letters" help:"List a session's undeliverable messages (read-only)."`
	Ack         mailboxAck                               `cmd:"" help:"Permanently remove a message from a session's mailbox or dead letters."`
	Replay      mailboxReplay                            `cmd:"" help:"Put a dead letter back into the mailbox."`
}

// mailboxRef is the argument of every mailbox command.
type mailboxRef struct {
	SessionID string `arg:"" name:"session-id" help:"Session id."`
}

// messageRef names one message.
type messageRef struct {
	mailboxRef
	MessageID string `arg:"" name:"message-id" help:"Message id."`
}

type mailboxList struct {
	console.Reporting
	mailboxRef
}

// Run reads the pending messages, as a worker does.
func (c *mailboxList) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		messages, err := opened.Mailbox(ctx, c.SessionID)
		if err != nil {
			return err
		}
		if len(messages) > 0 {
			terminal.Say("these messages are leased for 30 s and hidden from workers until then; a message received")
			terminal.Say("three times without an acknowledgement becomes a dead letter")
		}
		return messageTable.print(terminal, c.JSON, messages)
	})
}

type deadLettersFilter struct{ mailboxRef }

func (f deadLettersFilter) read(ctx context.Context, c *client.Client) ([]api.MessageView, error) {
	return c.DeadLetters(ctx, f.SessionID)
}

func (deadLettersFilter) table() table[api.MessageView] { return messageTable }

var messageTable = table[api.MessageView]{
	header: []string{"MESSAGE", "FROM", "SUBJECT", "PAYLOAD", "SENT", "READINGS", "LAST ERROR"},
	row: func(message *api.MessageView, now time.Time) []string {
		return []string{
			message.MessageID, message.FromSessionID, message.Subject, console.Cut(prompt.Compact(message.Payload), 60),
			console.Ago(message.CreatedAtMs, now), strconv.FormatInt(message.DeliveryAttempts, 10), console.Cut(message.LastError, 90),
		}
	},
}

type mailboxAck struct {
	console.Reporting
	messageRef
}

// Run acknowledges one message.
func (c *mailboxAck) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		if err := opened.AcknowledgeMessage(ctx, c.SessionID, c.MessageID); err != nil {
			return err
		}
		return printRecord(terminal, c.JSON, &acknowledged{true, c.MessageID}, func(a *acknowledged, _ time.Time) []console.Field {
			return []console.Field{{"message", a.MessageID + " acknowledged"}}
		})
	})
}

type acknowledged struct {
	Acknowledged bool   `json:"acknowledged"`
	MessageID    string `json:"message_id"`
}

type mailboxReplay struct {
	console.Reporting
	messageRef
}

// Run replays a dead letter. It fails if the message becomes a dead letter again, because
// its recipient no longer exists.
func (c *mailboxReplay) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		message, err := opened.ReplayMessage(ctx, c.SessionID, c.MessageID)
		if err != nil {
			return err
		}
		err = printRecord(terminal, c.JSON, message, func(m *api.MessageView, _ time.Time) []console.Field {
			return []console.Field{{"message", m.MessageID}, {"state", string(m.State)}, {"last error", m.LastError}}
		})
		if err == nil && message.State == api.MessageDeadLetter {
			return console.Failed(console.ExitError, "message %s is a dead letter again: %s", message.MessageID, message.LastError)
		}
		return err
	})
}
