package runs

// Actor is who gives a command and by what way; both end up in what is recorded.
type Actor struct {
	Name string
	Via  string
}
