// Package faces speaks every wire contract that the service has, each as a client of
// it would: it asks what is open, decides, and hands back the reply as it came. Its
// tests hold what no face can promise alone: that all of them look at the same waits,
// that the first committed decision wins on all of them, and what the others are told.
// It knows a service by its address only, so a service in another process will do.
package faces
