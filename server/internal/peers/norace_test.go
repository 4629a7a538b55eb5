//go:build !race

package peers

const underRace = false
