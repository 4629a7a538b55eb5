package hashing_test

import (
	"testing"

	"github.com/bloomery/bloomery/hashing"
)

// TestKindNumbers holds the numbers that stand in the headers of files.
func TestKindNumbers(t *testing.T) {
	if hashing.XXH3 != 0 || hashing.SipHash != 1 || hashing.Custom != 2 {
		t.Errorf("kinds are %d, %d, %d, and files have 0, 1, 2", hashing.XXH3, hashing.SipHash, hashing.Custom)
	}
}
