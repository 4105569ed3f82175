package stream

// maxOwnStacks bounds the calls of OnOwnStack that run at once. A database does not
// answer more at once.
const maxOwnStacks = 32

// OnOwnStack calls a function on a goroutine of its own, waits for it, and returns its
// error. A read from a database grows the stack, and a stream would keep a stack that
// has grown for as long as it waits. A panic comes through.
func (h *Hub) OnOwnStack(call func() error) error {
	h.ownStacks <- struct{}{}
	defer func() { <-h.ownStacks }()
	type outcome struct {
		err      error
		panicked any
	}
	done := make(chan outcome, 1)
	go func() {
		var got outcome
		defer func() {
			got.panicked = recover()
			done <- got
		}()
		got.err = call()
	}()
	got := <-done
	if got.panicked != nil {
		panic(got.panicked)
	}
	return got.err
}
