// Package rolling replaces the replicas of one version by replicas of the next one while clients
// decide, and goes back. It has tests only.
package rolling
