package session

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestErrorsByKind counts errors of several kinds and commands, more pairs of them than are kept, and begins again.
func TestErrorsByKind(t *testing.T) {
	for text, want := range map[string]string{
		"ERR unknown command": "ERR", "WRONGTYPE Operation": "WRONGTYPE", "OOM": "OOM", "not found": "ERR", "Bloom: x": "ERR", "": "ERR", "A b": "ERR",
		strings.Repeat("A", 33) + " x": "ERR",
	} {
		if got := KindOf(text); got != want {
			t.Errorf("KindOf(%q) = %s, want %s", text, got, want)
		}
	}
	c := NewCounters(4)
	var a, b Client
	a.Init(1, "", "", time.Time{}, nil)
	b.Init(2, "", "", time.Time{}, nil)
	c.Failed(&a, 1, "ERR", 2)
	c.Failed(&b, 1, "ERR", 3)
	c.Failed(&b, NoCommand, "ERR", 7)
	c.Failed(&b, 2, "OOM", 1)
	if got, want := fmt.Sprint(c.Errors()), "[{ERR -1 7} {ERR 1 5} {OOM 2 1}]"; got != want {
		t.Errorf("errors %s, want %s", got, want)
	}
	for i := range 2 * mostErrors {
		c.Failed(&a, i, "ERR", 1)
	}
	list, sum := c.Errors(), int64(0)
	for _, v := range list {
		sum += v.Count
	}
	if last := list[len(list)-1]; len(list) > mostErrors+3 || sum != 13+2*mostErrors || last.Kind != otherKind {
		t.Errorf("%d pairs of %d errors, the last %+v", len(list), sum, last)
	}
	if c.Reset(); len(c.Errors()) != 0 {
		t.Errorf("after a reset: %+v", c.Errors())
	}
}
