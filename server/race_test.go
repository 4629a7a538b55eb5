//go:build race

package server_test

// chaosFactor is how much longer everything may take under the race detector.
const chaosFactor = 5
