package status

import "testing"

type ring []string

func (r *ring) KeyIDs() []string { return *r }

// TestAbilitiesSeeKeysThatCome asks for the secret keys of a server before and after one was
// added: abilities are copied, and keys can be read again at any time.
func TestAbilitiesSeeKeysThatCome(t *testing.T) {
	var keys ring
	can := Abilities{Keys: &keys}
	copied := can
	if len(copied.KeyIDs()) != 0 || len(Abilities{}.KeyIDs()) != 0 {
		t.Errorf("a server without keys has %q", copied.KeyIDs())
	}
	keys = append(keys, "k1")
	if got := copied.KeyIDs(); len(got) != 1 || got[0] != "k1" {
		t.Errorf("the keys are %q, want k1", got)
	}
}
