//go:build race

package command_test

// underRace reports that the race detector is on, under which code allocates that
// else does not.
const underRace = true
