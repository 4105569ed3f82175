package wire

import "net/http"

// Reply returns a handler that answers with the value that answer returns.
func Reply[T any](status int, answer func(r *http.Request) (T, error)) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		value, err := answer(r)
		if err != nil {
			return err
		}
		return Respond(w, r, status, value)
	}
}

// ReplyTo is [Reply] for a call with a required body. Errors of [Bodies.Decode] come first.
func ReplyTo[B, T any](bodies *Bodies, status int, answer func(r *http.Request, body *B) (T, error)) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		body := new(B)
		if err := bodies.Decode(w, r, body, nil); err != nil {
			return err
		}
		value, err := answer(r, body)
		if err != nil {
			return err
		}
		return Respond(w, r, status, value)
	}
}

// NoContent returns a handler that answers 204 once act has succeeded.
func NoContent(act func(r *http.Request) error) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := act(r); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}
