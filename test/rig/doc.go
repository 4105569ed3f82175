// Package rig runs the real program as processes of its own, for tests that kill,
// freeze and restart it. It is imported by tests only and knows nothing of what they
// test.
package rig
