package traits

import (
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/acl"
)

// TestKeysOfCalls asks where the keys of a call are, also where a number among the
// arguments says how many there are, and where that number is wrong.
func TestKeysOfCalls(t *testing.T) {
	counted := Key{First: 2, Counted: true}
	for _, c := range []struct {
		keys Key
		line string
		want []int
	}{
		{KeyAt(1, KeyRO), "get k", []int{1}},
		{KeyAt(2, KeyRO), "object encoding k", []int{2}},
		{KeyAt(2, KeyRO), "object help", nil},
		{AllKeys(KeyRO)[0], "del a b c", []int{1, 2, 3}},
		{Key{First: 1, Last: -1, Step: 2}, "mset a 1 b 2", []int{1, 3}},
		{Key{First: 1, Last: 2, Step: 1}, "rename a b", []int{1, 2}},
		{Key{First: 1, Last: 2, Step: 1}, "rename a", []int{1}},
		{counted, "merge to 2 a b", []int{3, 4}},
		{counted, "merge to 2 a b weights 1 2", []int{3, 4}},
		{counted, "merge to 1 a b", []int{3}},
		{counted, "merge to 3 a b", nil},
		{counted, "merge to 0 a b", nil},
		{counted, "merge to -1 a b", nil},
		{counted, "merge to x a b", nil},
		{counted, "merge to 9223372036854775807 a b", nil},
		{counted, "merge to", nil},
		{counted, "merge to 1", nil},
	} {
		var args [][]byte
		for w := range strings.FieldsSeq(c.line) {
			args = append(args, []byte(w))
		}
		keys := Keys{c.keys}
		var got []int
		keys.Each(args, func(i int, _ Key) { got = append(got, i) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s has keys at %v, want %v", c.line, got, c.want)
		}
		for i := range args {
			if keys.Has(args, i) != slices.Contains(c.want, i) {
				t.Errorf("%s: Has(%d) = %v", c.line, i, keys.Has(args, i))
			}
		}
	}
	const both = acl.Read | acl.Write
	for access, want := range map[string]acl.Access{
		KeyRO: acl.Read, KeyGet: acl.Read, KeyRW: both, KeyUpdate: both, KeyTake: both,
		KeyOW: acl.Write, KeyNew: acl.Write, KeyDelete: acl.Write, KeyChange: acl.Write, KeyAppend: acl.Write,
	} {
		if got := (&Key{Access: access}).access(Write); got != want {
			t.Errorf("keys of %q need %d, want %d", access, got, want)
		}
	}
	if got := (&Key{Access: KeyRW}).access(ReadOnly); got != acl.Read {
		t.Errorf("keys of a read need %d", got)
	}
}

// TestFlags asks for the names of flags, and which commands write.
func TestFlags(t *testing.T) {
	if got := (Write | DenyOOM | Fast | Heavy | Immediate).Names(); !slices.Equal(got, []string{"write", "denyoom", "fast"}) {
		t.Errorf("names of flags: %q", got)
	}
	for f, want := range map[Flags]bool{Write: true, Wrote: true, ReadOnly: false, 0: false} {
		if f.Writes() != want {
			t.Errorf("flags %v: Writes is not %v", f.Names(), want)
		}
	}
}
