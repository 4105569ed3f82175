package reads

// Viewer is a person who has a request open in their inbox.
type Viewer struct {
	Principal string
	// Handle identifies the request; SessionID and AgentID are those of its run. All are "" while the person has none
	// open.
	Handle, SessionID, AgentID string
}
