//go:build race

package peers

// underRace reports that the race detector is on, which allocates.
const underRace = true
