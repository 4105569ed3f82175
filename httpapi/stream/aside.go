package stream

// maxAside bounds the calls that are aside at once. A database does not answer more at
// once, and what waits before it takes little memory.
const maxAside = 32

// Aside calls a function on a goroutine of its own and waits for it. Reading from a
// database takes much stack, and whoever then waits for hours would keep it. A panic
// comes through.
func (h *Hub) Aside(call func() error) error {
	h.aside <- struct{}{}
	defer func() { <-h.aside }()
	type outcome struct {
		err   error
		cause any
	}
	done := make(chan outcome, 1)
	go func() {
		var got outcome
		defer func() {
			got.cause = recover()
			done <- got
		}()
		got.err = call()
	}()
	got := <-done
	if got.cause != nil {
		panic(got.cause)
	}
	return got.err
}
