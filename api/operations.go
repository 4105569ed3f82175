package api

// StatusReply is the reply of /livez and /readyz on success.
type StatusReply struct {
	// Status is "live" or "ready".
	Status string `json:"status"`
}

// VersionInfo is the reply of /version.
type VersionInfo struct {
	// Name is "holdpoint".
	Name    string `json:"name"`
	Version string `json:"version"`
}
