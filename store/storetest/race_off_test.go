//go:build !race

package storetest_test

const underRace = false
