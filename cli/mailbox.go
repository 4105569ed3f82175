package cli

import (
	"context"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
)

type mailboxCommands struct {
	List        mailboxList   `cmd:"" help:"Read a session's messages in the place of its worker: each is leased for 30 s, and the third reading is the last."`
	DeadLetters deadLetters   `cmd:"" name:"dead-letters" help:"List a session's messages that could not be delivered; changes nothing."`
	Ack         mailboxAck    `cmd:"" help:"Take a message out of a session's mailbox or dead letters, for good."`
	Replay      mailboxReplay `cmd:"" help:"Put a dead letter back into the mailbox."`
}

// ofSession is the argument of every command on a mailbox.
type ofSession struct {
	SessionID string `arg:"" name:"session-id" help:"The session whose mailbox it is."`
}

// ofMessage names one message.
type ofMessage struct {
	ofSession
	MessageID string `arg:"" name:"message-id" help:"The message's id."`
}

type mailboxList struct {
	connection
	format
	ofSession
}

// Run reads the messages that are pending, as a worker does.
func (c *mailboxList) Run(ctx context.Context, console *console) error {
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	messages, err := opened.Mailbox(ctx, c.SessionID)
	if err != nil {
		return c.reached(err)
	}
	if len(messages) > 0 {
		console.say("these messages are leased for 30 s: no worker is shown them until then, and a message that is read")
		console.say("three times and never acknowledged becomes a dead letter")
	}
	return printMessages(console, c.JSON, messages)
}

type deadLetters struct {
	connection
	format
	ofSession
}

// Run prints the dead letters.
func (c *deadLetters) Run(ctx context.Context, console *console) error {
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	messages, err := opened.DeadLetters(ctx, c.SessionID)
	if err != nil {
		return c.reached(err)
	}
	return printMessages(console, c.JSON, messages)
}

func printMessages(console *console, asJSON bool, messages []api.MessageView) error {
	if asJSON {
		return printJSON(console.stdout, messages)
	}
	rows := make([][]string, len(messages))
	for i, message := range messages {
		rows[i] = []string{
			message.MessageID, message.FromSessionID, message.Subject, cell(compact(message.Payload), 60),
			ago(message.CreatedAtMs, console.now()), strconv.FormatInt(message.DeliveryAttempts, 10), cell(message.LastError, 90),
		}
	}
	return table(console.stdout, []string{"MESSAGE", "FROM", "SUBJECT", "PAYLOAD", "SENT", "READINGS", "LAST ERROR"}, rows)
}

type mailboxAck struct {
	connection
	format
	ofMessage
}

// Run acknowledges one message.
func (c *mailboxAck) Run(ctx context.Context, console *console) error {
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	if err := opened.AcknowledgeMessage(ctx, c.SessionID, c.MessageID); err != nil {
		return c.reached(err)
	}
	if c.JSON {
		return printJSON(console.stdout, acknowledged{true, c.MessageID})
	}
	return describe(console.stdout, []field{{"message", c.MessageID + " acknowledged"}})
}

type acknowledged struct {
	Acknowledged bool   `json:"acknowledged"`
	MessageID    string `json:"message_id"`
}

type mailboxReplay struct {
	connection
	format
	ofMessage
}

// Run replays one dead letter. It fails when the message is a dead letter again,
// because nobody is there to take it.
func (c *mailboxReplay) Run(ctx context.Context, console *console) error {
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	message, err := opened.ReplayMessage(ctx, c.SessionID, c.MessageID)
	if err != nil {
		return c.reached(err)
	}
	if c.JSON {
		err = printJSON(console.stdout, message)
	} else {
		err = describe(console.stdout, []field{
			{"message", message.MessageID}, {"state", string(message.State)}, {"last error", message.LastError},
		})
	}
	if err == nil && message.State == api.MessageDeadLetter {
		return failed(exitError, "message %s is a dead letter again: %s", message.MessageID, message.LastError)
	}
	return err
}
