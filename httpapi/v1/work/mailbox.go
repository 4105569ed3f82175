package work

import (
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// readMailbox leases the available messages and returns them.
func (h *Handlers) readMailbox(r *http.Request) ([]api.MessageView, error) {
	if err := checkSite(r); err != nil {
		return nil, err
	}
	return h.messages(r, false)
}

func (h *Handlers) readDeadLetters(r *http.Request) ([]api.MessageView, error) {
	return h.messages(r, true)
}

func (h *Handlers) messages(r *http.Request, deadLetters bool) ([]api.MessageView, error) {
	sessionID := wire.PathID(r, "session_id")
	reply, err := h.DoInSession(r, sessionID, &runs.ReadMailbox{SessionID: sessionID, DeadLetters: deadLetters})
	if err != nil {
		return nil, err
	}
	if !deadLetters {
		linkMessages(r.Context(), reply.Messages)
	}
	views := make([]api.MessageView, len(reply.Messages))
	for i := range reply.Messages {
		views[i] = reply.Messages[i].View()
	}
	return views, nil
}

// checkSite refuses a browser's read from another origin of the same site (for example another
// port) without an Origin header, like that of an image. wire.Guard allows such requests because
// the page cannot read the reply, but this read leases messages.
func checkSite(r *http.Request) error {
	if r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") == "same-site" {
		return refusal.New(wire.CodeOriginNotAllowed, "a web page of another origin may not read a mailbox")
	}
	return nil
}

func (h *Handlers) acknowledgeMessage(w http.ResponseWriter, r *http.Request) error {
	sessionID, messageID := wire.PathID(r, "session_id"), wire.PathID(r, "message_id")
	command := &runs.AcknowledgeMessage{SessionID: sessionID, MessageID: messageID}
	if _, err := h.doOnMessage(w, r, sessionID, messageID, command); err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, api.AcknowledgedReply{Acknowledged: true, MessageID: messageID})
}

func (h *Handlers) replayMessage(w http.ResponseWriter, r *http.Request) error {
	sessionID, messageID := wire.PathID(r, "session_id"), wire.PathID(r, "message_id")
	reply, err := h.doOnMessage(w, r, sessionID, messageID, &runs.ReplayMessage{SessionID: sessionID, MessageID: messageID})
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusAccepted, reply.Messages[0].View())
}

// doOnMessage sends a command about one message to the store. The body may be absent and is not
// read.
func (h *Handlers) doOnMessage(w http.ResponseWriter, r *http.Request, sessionID, messageID string, command runs.Command) (runs.Reply, error) {
	if err := h.Bodies.DecodeNothing(w, r); err != nil {
		return runs.Reply{}, err
	}
	if !refusal.ValidID(messageID) {
		if _, err := h.Session(r.Context(), sessionID); err != nil {
			return runs.Reply{}, err
		}
		return runs.Reply{}, refusal.New(api.CodeMessageNotFound, "unknown message %s in session %s", wire.Shown(messageID), sessionID)
	}
	return h.DoInSession(r, sessionID, command)
}
