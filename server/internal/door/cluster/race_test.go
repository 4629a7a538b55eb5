//go:build race

package cluster

// underRace reports that the race detector is on, under which everything takes longer.
const underRace = true
