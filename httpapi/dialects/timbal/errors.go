package timbal

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/holdpoint/holdpoint/httpapi/wire"
)

// refusal is an answer that is no stream: {"detail": …}, as the original's framework
// words it.
type faceError struct {
	status int
	detail string
}

func (e *faceError) Error() string { return fmt.Sprintf("%d: %s", e.status, e.detail) }

func refuse(status int, format string, args ...any) error {
	return &faceError{status, fmt.Sprintf(format, args...)}
}

func unprocessable(format string, args ...any) error {
	return refuse(http.StatusUnprocessableEntity, format, args...)
}

type detailBody struct {
	Detail string `json:"detail"`
}

// handler answers with the detail of an error. An error of the domain has the status
// that /v1 gives it.
func (f *face) handler(handle wire.HandlerFunc) http.Handler {
	return wire.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		err := handle(w, r)
		if err == nil {
			return nil
		}
		var refused *faceError
		if !errors.As(err, &refused) {
			problem := wire.ProblemOf(err)
			refused = &faceError{problem.Status, problem.Detail}
		}
		if refused.status >= http.StatusInternalServerError && r.Context().Err() == nil {
			f.report(r, err)
		}
		if refused.status == http.StatusServiceUnavailable {
			w.Header()["Retry-After"] = []string{"1"}
		}
		return wire.Respond(w, r, refused.status, detailBody{refused.detail})
	})
}

// report logs what went wrong for a reason of ours.
func (f *face) report(r *http.Request, err error) {
	f.Logger.LogAttrs(r.Context(), slog.LevelError, "timbal", slog.String("path", r.URL.Path), slog.String("error", err.Error()))
}
