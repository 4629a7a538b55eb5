package counting_test

import (
	"testing"

	"github.com/bloomery/bloomery/counting"
)

// Contains and ContainsString are ContainsHash of the key's hash.
func TestContainsSpellings(t *testing.T) {
	f := counting.New(1000, 0.01)
	if err := f.InsertString("alice"); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"alice": true, "bob": false} {
		if got := f.ContainsHash(f.Hash([]byte(key))); got != want {
			t.Errorf("ContainsHash(%s) = %v", key, got)
		}
		if f.Contains([]byte(key)) != want || f.ContainsString(key) != want {
			t.Errorf("Contains(%s) = %v, ContainsString = %v, want %v", key, f.Contains([]byte(key)), f.ContainsString(key), want)
		}
	}
}
