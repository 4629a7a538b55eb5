package keys_test

import (
	"fmt"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestScanWalks visits every name, with about as many in a call as were asked for:
// ten if nothing was.
func TestScanWalks(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	const names, chain = 2000, 30
	for i := range names {
		b.Do("SET", fmt.Sprint("name", i), "v")
	}
	for _, c := range []struct {
		words string
		count int
	}{{"", 10}, {" COUNT 1", 1}, {" COUNT 9", 9}, {" COUNT 300", 300}, {" COUNT 5000", 5000}} {
		seen, cursor := map[string]bool{}, "0"
		for {
			r := b.Exec(commandtest.Fields("SCAN " + cursor + c.words))[0]
			for _, name := range r.Elems[1].Elems {
				seen[name.Text] = true
			}
			cursor = r.Elems[0].Text
			if cursor == "0" {
				break
			}
			if got := len(r.Elems[1].Elems); got < c.count || got > c.count+chain {
				t.Fatalf("SCAN%s has %d names", c.words, got)
			}
		}
		if len(seen) != names {
			t.Errorf("SCAN%s finds %d of %d names", c.words, len(seen), names)
		}
	}
}

// TestManyNames removes more names than one record has.
func TestManyNames(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for _, n := range []int{1, 127, 128, 129, 256, 257, 1000} {
		set, names := []string{"MSET"}, []string{"DEL", "nokey"}
		for i := range n {
			name := fmt.Sprint("name", i)
			set, names = append(set, name, "v"), append(names, name)
		}
		names = append(names, "name0", "stays not") // twice, and never there
		b.Do(set...)
		b.Do("SET", "other", "v")
		if got := b.Do(append([]string{"EXISTS"}, names[1:]...)...); got != fmt.Sprint(":", n+1) {
			t.Errorf("EXISTS of %d names, one of them twice = %s", n, got)
		}
		if got := b.Do(names...); got != fmt.Sprint(":", n) {
			t.Errorf("DEL of %d names = %s", n, got)
		}
		if got := b.Line("DBSIZE"); got != ":1" {
			t.Errorf("after DEL of %d names DBSIZE = %s, want :1", n, got)
		}
	}
}

// TestRandomKeyIsReadable asks for a random key as users who may read one of 3,000, or
// none with that command: rules of different selectors do not add up.
func TestRandomKeyIsReadable(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for i := range 3000 {
		b.Line(fmt.Sprintf("SET k%d v", i))
	}
	b.Script(t, `
		ACL SETUSER one on nopass ~k7 +randomkey -> +OK
		ACL SETUSER none on nopass ~nokey +randomkey +acl (~k7 +get) -> +OK
		AUTH one x -> +OK
		RANDOMKEY -> "k7"
		AUTH none x -> +OK
		RANDOMKEY -> nil`)
}
