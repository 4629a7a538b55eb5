package store_test

import (
	"testing"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestOtherKey asks for a secret key that takes the place of another.
func TestOtherKey(t *testing.T) {
	s := store.New()
	if got := s.OtherKey(""); got != "" {
		t.Errorf("without keys: %q", got)
	}
	keys := map[string]hashing.Hasher{}
	for i, id := range []string{"c", "b", "d"} {
		keys[id] = hashing.Keyed([16]byte{byte(i)})
	}
	s.SetKeys(keys)
	for id, want := range map[string]string{"": "b", "b": "c", "c": "b", "d": "b", "gone": "b"} {
		if got := s.OtherKey(id); got != want {
			t.Errorf("OtherKey(%q) = %q, want %q", id, got, want)
		}
	}
	s.SetKeys(map[string]hashing.Hasher{"b": keys["b"]})
	if got := s.OtherKey("b"); got != "" {
		t.Errorf("the only key gives way to %q", got)
	}
}
