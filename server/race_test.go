//go:build race && !bloomerydebug

package server_test

// chaosFactor is how much longer everything may take under the race detector.
const chaosFactor = 5
