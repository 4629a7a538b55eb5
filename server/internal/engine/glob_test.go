package engine_test

import (
	"fmt"
	"testing"
)

func TestKeysOfManyNames(t *testing.T) {
	b := newBench(t, 1<<30)
	for i := range 3000 {
		b.do("SET", fmt.Sprint("name:", i), "v")
	}
	for pattern, want := range map[string]int{"*": 3000, "name:1??": 100, "nothing*": 0, "name:[0-4]": 5} {
		r := b.exec([][]byte{[]byte("KEYS"), []byte(pattern)})[0]
		if len(r.Elems) != want {
			t.Errorf("KEYS %s returns %d names, want %d", pattern, len(r.Elems), want)
		}
	}
	seen := map[string]bool{}
	for cursor, calls := "0", 0; calls == 0 || cursor != "0"; calls++ {
		if calls > 3000 {
			t.Fatal("SCAN does not end")
		}
		r := b.exec([][]byte{[]byte("SCAN"), []byte(cursor), []byte("COUNT"), []byte("700")})[0]
		cursor = r.Elems[0].Text
		for _, e := range r.Elems[1].Elems {
			seen[e.Text] = true
		}
	}
	if len(seen) != 3000 {
		t.Errorf("SCAN has seen %d names, want 3000", len(seen))
	}
	if got := b.session.Memory(); got != 0 {
		b.line("PING")
		if got = b.session.Memory(); got != 0 {
			t.Errorf("%d bytes are held for replies that were written", got)
		}
	}
}
