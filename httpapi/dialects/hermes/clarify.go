package hermes

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ClarifyIDHeader names the clarification that a call without a clarify_id has
// answered.
const ClarifyIDHeader = "X-Clarify-Id"

// staleText is what a client looks for.
const staleText = "Clarification prompt expired or not found. The agent may have already proceeded."

// pendingClarification is a PendingClarification (hermes.md 2.2). Its times are seconds
// with a fraction.
type pendingClarification struct {
	ClarifyID      string   `json:"clarify_id"`
	Question       string   `json:"question"`
	ChoicesOffered []string `json:"choices_offered"`
	SessionID      string   `json:"session_id"`
	Kind           string   `json:"kind"`
	RequestedAt    api.JSON `json:"requested_at"`
	TimeoutSeconds int64    `json:"timeout_seconds"`
	ExpiresAt      api.JSON `json:"expires_at"`
}

// asked is one question of a request: a typed one, or one of its structured ones.
type asked struct {
	id      string
	request *model.Request
	body    *api.UserQuestionRequest
	// one is nil for a typed question.
	one *api.UserQuestion
}

// askedBy returns the questions of an open request that have no answer yet, each with
// an id of its own: the handle when there is one question, else with the question's id
// behind it.
func askedBy(request *model.Request) ([]asked, error) {
	body := request.Question()
	if body.ResponseSchema != nil {
		return []asked{{id: request.Handle, request: request, body: &body}}, nil
	}
	if len(body.Questions) == 1 {
		return []asked{{id: request.Handle, request: request, body: &body, one: &body.Questions[0]}}, nil
	}
	var answers []api.UserQuestionAnswer
	if request.PartialAnswers != nil {
		if err := json.Unmarshal(request.PartialAnswers, &answers); err != nil {
			return nil, errors.New("partial answers of request " + request.Handle + " cannot be read: " + err.Error())
		}
	}
	answered := make(map[string]bool, len(answers))
	for i := range answers {
		answered[answers[i].QuestionID] = true
	}
	var open []asked
	for i := range body.Questions {
		if one := &body.Questions[i]; !answered[one.ID] {
			open = append(open, asked{id: request.Handle + ":" + one.ID, request: request, body: &body, one: one})
		}
	}
	return open, nil
}

// openQuestions returns every question of a session that has no answer yet, those of
// the oldest request first. Questions that children ask this session are among them.
func openQuestions(ctx context.Context, reader runs.Reader, sessionID string) ([]asked, error) {
	open, err := openRequests(ctx, reader, model.KindQuestion, sessionID)
	if err != nil {
		return nil, err
	}
	var all []asked
	for i := range open {
		questions, err := askedBy(&open[i].Request)
		if err != nil {
			return nil, err
		}
		all = append(all, questions...)
	}
	return all, nil
}

// view puts a question into the words of the dialect.
func (a *asked) view() *pendingClarification {
	shown := &pendingClarification{
		ClarifyID: a.id, Question: a.question(), ChoicesOffered: a.choices(), SessionID: a.request.SessionID,
		Kind: "clarify", RequestedAt: seconds(a.request.CreatedAtMs), ExpiresAt: api.JSON("0"),
	}
	if dueAtMs := a.body.ExpiresAtMs; dueAtMs != nil {
		// A whole number, rounded down but never to 0, which would say that there is no
		// limit; and a moment that is that much later, as every client may count on.
		shown.TimeoutSeconds = max((*dueAtMs-a.request.CreatedAtMs)/1000, 1)
		shown.ExpiresAt = seconds(a.request.CreatedAtMs + shown.TimeoutSeconds*1000)
	}
	return shown
}

// seconds writes milliseconds as seconds, exactly, with a fraction even when it is 0.
func seconds(ms int64) api.JSON {
	fraction := strings.TrimRight(strconv.FormatInt(1000+ms%1000, 10)[1:], "0")
	return api.JSON(strconv.FormatInt(ms/1000, 10) + "." + cmp.Or(fraction, "0"))
}

func (f *face) pendingClarification(w http.ResponseWriter, r *http.Request) {
	head, _, err := readClarifications(r.Context(), f.services.Store, sessionOf(r))
	if err != nil {
		f.fail(w, r, err)
		return
	}
	// Without a count (hermes.md 2.3).
	respond(w, r, http.StatusOK, struct {
		Pending any `json:"pending"`
	}{head})
}

// answered and tooLate are the replies to an answer.
type (
	answered struct {
		OK       bool   `json:"ok"`
		Response string `json:"response"`
	}
	tooLate struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
		Stale bool   `json:"stale"`
	}
)

// respondClarification checks in the order of hermes.md 2.6.
func (f *face) respondClarification(w http.ResponseWriter, r *http.Request) {
	var body clarifyBody
	if err := readBody(w, r, &body); err != nil {
		f.fail(w, r, err)
		return
	}
	sessionID := idOf(body.SessionID)
	if sessionID == "" {
		refuse(w, r, http.StatusBadRequest, "session_id is required")
		return
	}
	response := body.response()
	switch {
	case response == "":
		refuse(w, r, http.StatusBadRequest, "response is required")
		return
	case len(response) > MaxResponseBytes:
		refuse(w, r, http.StatusRequestEntityTooLarge, "the response must have at most "+strconv.Itoa(MaxResponseBytes)+" bytes")
		return
	}
	who, err := actor(r)
	if err != nil {
		f.fail(w, r, err)
		return
	}
	clarifyID := idOf(body.ClarifyID)
	question, err := f.questionMeant(r.Context(), sessionID, clarifyID)
	if err == nil && question != nil {
		err = f.answer(r.Context(), question, response, who)
	}
	switch {
	case err != nil:
		f.failAnswer(w, r, err)
	case question == nil:
		f.failAnswer(w, r, errStale)
	default:
		if clarifyID == "" {
			w.Header()[ClarifyIDHeader] = []string{question.id}
		}
		respond(w, r, http.StatusOK, answered{OK: true, Response: response})
	}
}

// questionMeant returns the open question that an answer is for, or nil: the one with
// the id, else the oldest.
func (f *face) questionMeant(ctx context.Context, sessionID, clarifyID string) (*asked, error) {
	var questions []asked
	var err error
	if clarifyID == "" {
		questions, err = openQuestions(ctx, f.services.Store, sessionID)
	} else {
		handle, _, _ := strings.Cut(clarifyID, ":")
		var request *model.Request
		if request, err = openRequest(ctx, f.services.Store, model.KindQuestion, sessionID, handle); request != nil {
			questions, err = askedBy(request)
		}
	}
	if err != nil {
		return nil, err
	}
	for i := range questions {
		if clarifyID == "" || questions[i].id == clarifyID {
			return &questions[i], nil
		}
	}
	return nil, nil
}

// errStale: the question has its answer, or will have none.
var errStale = errors.New("stale")

// failAnswer tells why an answer was not taken.
func (f *face) failAnswer(w http.ResponseWriter, r *http.Request, err error) {
	switch refusal.CodeOf(err) {
	case api.CodeQuestionStateConflict, api.CodeQuestionExpired, api.CodeQuestionRequestMismatch,
		api.CodeQuestionResolutionConflict, api.CodeRunStateConflict, api.CodeRunNotFound, api.CodeRequestNotFound:
		err = errStale
	case api.CodeInvalidRequest:
		// The answer does not fit its question, which stays open.
		refuse(w, r, http.StatusBadRequest, "The response does not fit the question: "+faultsOf(err))
		return
	}
	if errors.Is(err, errStale) {
		respond(w, r, http.StatusConflict, tooLate{Error: staleText, Stale: true})
		return
	}
	f.fail(w, r, err)
}
