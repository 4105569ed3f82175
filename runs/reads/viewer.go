package reads

// Viewer is a person who has a request open in their inbox.
type Viewer struct {
	Principal string
	// Handle identifies the request, and its run has SessionID and AgentID. All are "" while the person has none open.
	Handle, SessionID, AgentID string
}
