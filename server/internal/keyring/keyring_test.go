package keyring_test

import (
	"slices"
	"testing"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/keyring"
)

// TestOpen asks which hasher opens a filter: that of its key under any id, and a keyless one if
// the key is not there.
func TestOpen(t *testing.T) {
	a, b := hashing.Keyed([16]byte{1}), hashing.Keyed([16]byte{2})
	ring := keyring.Ring{"b": b, "a2": a, "a1": a}
	if got := ring.IDs(); !slices.Equal(got, []string{"a1", "a2", "b"}) {
		t.Errorf("ids: %q", got)
	}
	if got := slices.Sorted(slices.Values(ring.With(a.Check()))); !slices.Equal(got, []string{"a1", "a2"}) {
		t.Errorf("ids of one key: %q", got)
	}
	for _, id := range []string{"a2", "", "b", "gone"} { // its own, none, that of another key, one of another server
		if h := ring.Open(id, hashing.SipHash, a.Check()); h.IsKeyless() || ring.ID(h) != "a1" {
			t.Errorf("id %q opens a filter with %q", id, ring.ID(h))
		}
	}
	if h := (keyring.Ring(nil)).Open("a1", hashing.SipHash, a.Check()); !h.IsKeyless() || h.Check() != a.Check() {
		t.Error("without keys a filter has one")
	}
	if h := ring.Open("a1", hashing.XXH3, 7); h.Kind() != hashing.XXH3 || h.Check() != 7 || ring.ID(h) != "" {
		t.Error("a filter without a secret key gets one")
	}
}
