package ports_test

import (
	"net"
	"slices"
	"testing"

	"github.com/bloomery/bloomery/internal/ports"
)

// TestFree takes many ports, again and again: no test has one twice, and each can be
// listened on, more than once.
func TestFree(t *testing.T) {
	for range 3 {
		t.Run("round", func(t *testing.T) {
			var all []string
			for range 10 {
				all = append(all, ports.Free(t, 25)...)
			}
			slices.Sort(all)
			if n := len(slices.Compact(all)); n != 250 {
				t.Errorf("%d different ports of 250", n)
			}
		})
	}
	addr := ports.Free(t, 1)[0]
	for range 2 {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
	}
}
