// Package rolling replaces the replicas of one version by those of the next while clients
// decide, and goes back. It has tests only.
package rolling
