package server

import (
	"io/fs"
	"testing"
)

// TestOpenToOthers asks who may read a secret: its owner, and the group of a file of root's if the
// server is not root.
func TestOpenToOthers(t *testing.T) {
	for _, c := range []struct {
		mode              fs.FileMode
		ofRoot, weAreRoot bool
		want              bool
	}{
		{0o600, false, false, false},
		{0o400, true, true, false},
		{0o640, false, false, true},
		{0o640, true, true, true},
		{0o440, true, false, false},
		{0o640, true, false, false},
		{0o660, true, false, true},
		{0o644, true, false, true},
		{0o604, true, false, true},
	} {
		if got := openToOthers(c.mode, c.ofRoot, c.weAreRoot); got != c.want {
			t.Errorf("mode %04o, of root %t, we are root %t: %t, want %t", c.mode, c.ofRoot, c.weAreRoot, got, c.want)
		}
	}
}
