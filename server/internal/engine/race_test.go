//go:build race

package engine_test

// underRace reports that the race detector is on, under which everything takes longer.
const underRace = true
