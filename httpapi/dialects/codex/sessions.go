package codex

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// sessionSummary is a session in the list of chats (docs/spec/codex.md#sessions). Its times are in
// seconds.
type sessionSummary struct {
	SessionID      string  `json:"sessionId"`
	Title          string  `json:"title"`
	Materialized   bool    `json:"materialized"`
	ModelProvider  string  `json:"modelProvider"`
	ApprovalPolicy string  `json:"approvalPolicy"`
	CreatedAt      int64   `json:"createdAt"`
	UpdatedAt      int64   `json:"updatedAt"`
	Cwd            string  `json:"cwd"`
	Source         string  `json:"source"`
	ProjectID      *string `json:"projectId"`
}

func summaryOf(session *model.Session) sessionSummary {
	return sessionSummary{
		SessionID:    session.SessionID,
		Title:        cmp.Or(kit.Text(kit.Get(session.Metadata, "title")), session.SessionID),
		Materialized: true, ModelProvider: "holdpoint", ApprovalPolicy: "on-request",
		CreatedAt: session.CreatedAtMs / 1000, UpdatedAt: session.UpdatedAtMs / 1000,
		Cwd: kit.Text(kit.Get(session.Metadata, "cwd")), Source: session.AgentID,
	}
}

// Limits of the list of sessions.
const (
	defaultSessions = 100
	maxSessionsPage = 200
	maxPassedOver   = 200
	// sessionReads is how many pages of sessions one call reads. The next call goes on.
	sessionReads = 10
)

// fromStart is the cursor before the first session, for a first page that waiting sessions fill. It is
// not a session id.
const fromStart = "."

type sessionList struct {
	Data       []sessionSummary `json:"data"`
	NextCursor *string          `json:"nextCursor"`
	Archived   bool             `json:"archived"`
}

// listSessions lists the visible sessions. The first page starts with sessions that wait for a
// person, which would otherwise come after all older ones.
func (f *face) listSessions(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	limit, err := strconv.Atoi(cmp.Or(query.Get("limit"), strconv.Itoa(defaultSessions)))
	if err != nil || limit < 1 || limit > maxSessionsPage {
		return invalid(issue{"custom", []any{"limit"}, "must be a whole number of 1 to " + strconv.Itoa(maxSessionsPage)})
	}
	list := sessionList{Data: []sessionSummary{}, Archived: query.Get("archived") == "true"}
	cursor := query.Get("cursor")
	if list.Archived || cursor != "" && cursor != fromStart && !refusal.ValidID(cursor) {
		return wire.Respond(w, r, http.StatusOK, list)
	}
	after, next := cursor, fromStart
	switch cursor {
	case fromStart:
		after = ""
	case "":
		if list.Data, err = f.waitingSessions(r.Context(), limit); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for i := range list.Data {
		seen[list.Data[i].SessionID] = true
	}
	size := limit
	for reading := 0; reading < sessionReads && len(list.Data) < limit; reading++ {
		page, err := f.Store.Reader(r.Context()).Sessions(r.Context(), reads.SessionQuery{After: after, Limit: size})
		if err != nil {
			return err
		}
		read := 0
		for ; read < len(page) && len(list.Data) < limit; read++ {
			session := &page[read].Session
			after, next = session.SessionID, session.SessionID
			if session.EndedAtMs == 0 && !isSystem(session) && !seen[after] {
				list.Data = append(list.Data, summaryOf(session))
			}
		}
		if read == len(page) && len(page) < size {
			next = ""
			break
		}
		size = maxSessionsPage // sessions that are not shown have taken the places of others
	}
	list.NextCursor = kit.OrNull(next)
	return wire.Respond(w, r, http.StatusOK, list)
}

// waitingSessions returns at most limit visible sessions with open requests, newest request first. It reads
// a bounded number of requests ([kit.Services.EachOpenAnywhere]), and passes over at most maxPassedOver
// sessions that are not shown.
func (f *face) waitingSessions(ctx context.Context, limit int) ([]sessionSummary, error) {
	newest := map[string]int64{}
	for _, kind := range []model.RequestKind{model.KindApproval, model.KindQuestion} {
		err := f.EachOpenAnywhere(ctx, kind, func(request *model.Request) {
			newest[request.SessionID] = max(newest[request.SessionID], request.CreatedAtMs)
		})
		if err != nil {
			return nil, err
		}
	}
	ids := slices.SortedFunc(maps.Keys(newest), func(a, b string) int { return cmp.Or(cmp.Compare(newest[b], newest[a]), cmp.Compare(a, b)) })
	waiting, passedOver := []sessionSummary{}, 0
	for _, id := range ids {
		if len(waiting) == limit || passedOver == maxPassedOver {
			break
		}
		if system, _ := f.announcer.knownSystem(id); system {
			continue
		}
		session, err := f.Store.Reader(ctx).SessionHead(ctx, id)
		switch {
		case refusal.CodeOf(err) == api.CodeSessionNotFound:
			passedOver++
		case err != nil:
			return nil, err
		case f.announcer.keepSystem(session) || session.EndedAtMs != 0:
			passedOver++
		default:
			waiting = append(waiting, summaryOf(session))
		}
	}
	return waiting, nil
}

// showSession answers with a session and its transcript, the form that clients read.
func (f *face) showSession(w http.ResponseWriter, r *http.Request) error {
	session, err := f.visibleSession(r)
	if err != nil {
		return err
	}
	if session == nil {
		return &kit.Error{Status: http.StatusNotFound, Body: unknownSession{statusNotFound, wire.Shown(wire.PathID(r, "sessionId"))}}
	}
	list, err := f.transcriptOf(r.Context(), session)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, struct {
		Session    sessionSummary `json:"session"`
		Transcript []Entry        `json:"transcript"`
	}{summaryOf(session), list})
}

// unknownSession is the body of 404 for a session.
type unknownSession struct {
	Status    string `json:"status"`
	SessionID string `json:"sessionId"`
}

// showCapabilities lists the supported features of the original: approvals and tool input, and no
// calls that control a runtime (docs/spec/codex.md#what-is-not-here).
func (f *face) showCapabilities(w http.ResponseWriter, r *http.Request) error {
	return wire.Respond(w, r, http.StatusOK, capabilities)
}

var capabilities = api.JSON(`{"status":"ok","runtime":{"initialized":true,"capabilitiesLastUpdatedAt":null},` +
	`"methods":{},"details":{},"features":{"toolUserInput":true}}`)

// showNone answers lists of unsupported resources with an empty list, so that clients that read
// them first continue.
func (f *face) showNone(w http.ResponseWriter, r *http.Request) error {
	return wire.Respond(w, r, http.StatusOK, nothing)
}

var nothing = api.JSON(`{"data":[],"nextCursor":null}`)
