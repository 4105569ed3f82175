package holdpoint

import "time"

// SetDrainTimeout replaces the time that Run gives clients to leave.
func (s *Service) SetDrainTimeout(timeout time.Duration) { s.drainTimeout = timeout }
