//go:build !linux

package dedupe

// advise does nothing: only Linux has such advice.
func advise([]byte) {}
