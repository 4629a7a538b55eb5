package acl

// Set is a set of commands by their index.
type Set []uint64

func newSet(count int) Set { return make(Set, (count+63)/64) }

// Has reports whether a command is in the set.
func (s Set) Has(i int) bool { return s[i>>6]>>(i&63)&1 != 0 }

func (s Set) add(i int) { s[i>>6] |= 1 << (i & 63) }

// change adds the commands of other, or removes them.
func (s Set) change(other Set, add bool) {
	for i, word := range other {
		if add {
			s[i] |= word
		} else {
			s[i] &^= word
		}
	}
}

// covers reports whether all commands of other are in the set.
func (s Set) covers(other Set) bool {
	for i, word := range other {
		if word&^s[i] != 0 {
			return false
		}
	}
	return true
}
