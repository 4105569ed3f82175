package links

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// maxForm is the maximum size of a form in bytes.
const maxForm = 64 << 10

// The fields of the forms.
const (
	fieldCode     = "code"
	fieldDecision = "decision"
	fieldDigest   = "input_digest"
	fieldReason   = "reason"
	fieldOption   = "option"
	fieldText     = "text"
)

// Links finds links and takes their codes; see [notify.Service] for the errors.
type Links interface {
	Link(ctx context.Context, secret string) (*notify.Link, error)
	EnterCode(ctx context.Context, link *notify.Link, code string) (right bool, left int64, err error)
}

// face serves the pages.
type face struct {
	links Links
	store runs.Door
	pages *pages
}

// Face returns the face. The store checks each command against the caller in its context.
func Face(links Links, store runs.Door) wire.Face {
	f := &face{links: links, store: store, pages: newPages()}
	const path = notify.LinkPath + "{secret}"
	return wire.Face{
		Name: "links", Via: strings.TrimSuffix(api.ViaLink, ":"), Answer: f.answer,
		Routes: []wire.Route{wire.Get(path, auth.Public, f.show), wire.Post(path, auth.Public, f.submit)},
	}
}

// IsPage reports whether a request opens the page of a link. Pages of other sites, such as a mailbox, have
// links to it.
func IsPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.HasPrefix(r.URL.Path, notify.LinkPath)
}

// asksForJSON reports whether a caller is a program that reads problem documents.
func asksForJSON(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "json") && !strings.Contains(accept, "text/html")
}

// answer answers an error with a page. All links that do not work have the same one.
func (f *face) answer(handle wire.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := handle(w, r)
		if err == nil {
			return
		}
		if asksForJSON(r) {
			wire.WriteProblem(w, r, err)
			return
		}
		problem := wire.NoteProblem(w, err)
		if wire.TryLater(problem.Status) {
			w.Header()["Retry-After"] = []string{"1"}
		}
		f.pages.problem(w, &problem)
	})
}

// show answers a GET and a HEAD. It changes nothing.
func (f *face) show(w http.ResponseWriter, r *http.Request) error {
	link, err := f.links.Link(r.Context(), wire.PathID(r, "secret"))
	if err != nil {
		return err
	}
	f.pages.entry(w, http.StatusOK, link, "")
	return nil
}

// submit answers a form: the code alone shows the request, and a decision with the code decides it.
func (f *face) submit(w http.ResponseWriter, r *http.Request) error {
	if err := wire.CheckSameOrigin(r); err != nil {
		return err
	}
	if err := parseForm(w, r); err != nil {
		return err
	}
	link, err := f.links.Link(r.Context(), wire.PathID(r, "secret"))
	if err != nil {
		return err
	}
	if !link.TakesCode {
		// Its pages may have been opened while it took one.
		return f.refuseCode(w, r, link, refusal.New(api.CodeLinkCodeWrong, "%s", noCodeText))
	}
	code := strings.TrimSpace(r.PostForm.Get(fieldCode))
	if code == "" {
		f.pages.entry(w, http.StatusUnprocessableEntity, link, "Enter the code from the message.")
		return nil
	}
	right, left, err := f.links.EnterCode(r.Context(), link, code)
	switch {
	case err != nil:
		return err
	case !right:
		return f.refuseCode(w, r, link, refusal.WrongCode(api.CodeLinkCodeWrong, left, "%s", wrongText(left)))
	}
	return f.enter(w, r, link, code)
}

// refuseCode answers a form whose code is not taken.
func (f *face) refuseCode(w http.ResponseWriter, r *http.Request, link *notify.Link, wrong *refusal.Error) error {
	if asksForJSON(r) {
		return wrong
	}
	wire.NoteProblem(w, wrong)
	f.pages.entry(w, http.StatusForbidden, link, wrong.Detail)
	return nil
}

// parseForm reads the form of a request. Errors: unsupported_media_type, payload_too_large, bad_request.
func parseForm(w http.ResponseWriter, r *http.Request) error {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded") {
		return refusal.New(wire.CodeUnsupportedMediaType, "the page of a link takes a form")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	err := r.ParseForm()
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return refusal.New(wire.CodePayloadTooLarge, "the form is larger than %d bytes", maxForm)
	}
	if err != nil {
		return refusal.New(api.CodeBadRequest, "the form cannot be read")
	}
	for _, values := range r.PostForm {
		if slices.ContainsFunc(values, func(value string) bool { return !utf8.ValidString(value) }) {
			return refusal.New(api.CodeBadRequest, "the form is not UTF-8")
		}
	}
	for _, field := range []string{fieldCode, fieldDecision, fieldDigest} {
		if len(r.PostForm[field]) > 1 {
			// The first one may not be the one that was pressed.
			return refusal.New(api.CodeBadRequest, "the form has %s more than once", field)
		}
	}
	return nil
}

// enter answers a form with the right code.
func (f *face) enter(w http.ResponseWriter, r *http.Request, link *notify.Link, code string) error {
	decision := r.PostForm.Get(fieldDecision)
	command, fault := commandOf(link, r)
	switch {
	case decision == "":
		f.pages.review(w, http.StatusOK, link, code, "")
		return nil
	case fault != "":
		f.pages.review(w, http.StatusUnprocessableEntity, link, code, fault)
		return nil
	}
	_, err := f.store.Do(auth.With(r.Context(), link.Person), command)
	var refused *refusal.Error
	switch {
	case err == nil:
		f.pages.done(w, link, decision)
		return nil
	case !errors.As(err, &refused):
		return err
	case refused.Code == api.CodeInvalidToken || refused.Code == api.CodeForbidden || refused.Code == api.CodeRunNotFound:
		// The person lost the right meanwhile.
		return refusal.New(api.CodeLinkNotFound, "%s", refused.Detail)
	case refused.Code == api.CodeApprovalChanged:
		wire.NoteProblem(w, err)
		f.pages.review(w, http.StatusConflict, link, code, "The input is not the one that you read. Read it again before you decide.")
		return nil
	case refused.Code == api.CodeRequesterExcluded:
		wire.NoteProblem(w, err)
		f.pages.review(w, http.StatusForbidden, link, code, "You cannot allow this request: it excludes everyone who asked for it. You may deny it.")
		return nil
	}
	return err
}

// commandOf returns the command of a press, or what is wrong with the form.
func commandOf(link *notify.Link, r *http.Request) (command runs.Command, fault string) {
	request, form := link.Request, r.PostForm
	actor := runs.ActorOf(link.Person, link.Via)
	decision, digest := form.Get(fieldDecision), form.Get(fieldDigest)
	if request.Kind == model.KindApproval {
		behavior := api.Behavior(decision)
		switch {
		case behavior != api.BehaviorAllow && behavior != api.BehaviorDeny:
			return nil, "Press Allow or Deny."
		case digest == "" && behavior == api.BehaviorAllow:
			// Only what was read is allowed. A denial needs no digest.
			return nil, "Read the input before you decide."
		}
		return &runs.ResolveApprovals{RunID: request.RunID, Actor: actor, Resolutions: []runs.ApprovalDecision{{
			RequestID: request.RequestID, Handle: request.Handle, InputDigest: digest, Behavior: behavior, Reason: written(form.Get(fieldReason)),
		}}}, ""
	}
	question := simple(request)
	if question == nil || decision != decisionAnswer {
		return nil, "Answer this question in the inbox."
	}
	answer := api.UserQuestionAnswer{QuestionID: question.ID, SelectedOptionIDs: chosen(question, form[fieldOption]), FreeformAnswer: written(form.Get(fieldText))}
	if len(answer.SelectedOptionIDs) == 0 && answer.FreeformAnswer == "" {
		return nil, "Choose or write an answer."
	}
	return &runs.AnswerQuestion{RunID: request.RunID, Actor: actor, Resolution: runs.QuestionAnswer{
		RequestID: request.RequestID, Answers: []api.UserQuestionAnswer{answer},
	}}, ""
}

// written returns a text that a person has typed. Browsers submit each line break as CR LF.
func written(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }

// chosen returns the ids of the options that a form has. Browsers change the line breaks of these, too: where two ids
// differ in nothing else, neither was chosen for certain, and the empty id is refused.
func chosen(question *api.UserQuestion, submitted []string) []string {
	breaks := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	ids := slices.Clone(submitted)
	for i, value := range submitted {
		var matching []string
		for _, option := range question.Options {
			if breaks.Replace(option.ID) == breaks.Replace(value) {
				matching = append(matching, option.ID)
			}
		}
		switch len(matching) {
		case 0: // the service refuses it
		case 1:
			ids[i] = matching[0]
		default:
			ids[i] = ""
		}
	}
	return ids
}

// simple returns the one question of a request that the page can ask, or nil. The page has no room for a payload, for
// previews and for secrets.
func simple(request *model.Request) *api.UserQuestion {
	if request.Kind != model.KindQuestion {
		return nil
	}
	asked := request.Question()
	hides := func(option api.QuestionOption) bool { return option.Preview != "" }
	if len(asked.Questions) != 1 || asked.ResponseSchema != nil || asked.Payload != nil || model.Sensitive(&asked) || slices.ContainsFunc(asked.Questions[0].Options, hides) {
		return nil
	}
	return &asked.Questions[0]
}

// toolOf returns the tool of an approval, "" of a question.
func toolOf(request *model.Request) string {
	if request.Kind != model.KindApproval {
		return ""
	}
	approval := request.Approval()
	return cmp.Or(approval.ToolName, "a tool")
}
