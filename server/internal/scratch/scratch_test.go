package scratch

import (
	"testing"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/shadow"
)

// TestMemoryGivesRoom takes room of every sort again and again: pieces do not
// overlap, cannot grow into each other, and stay as they are when more is taken.
func TestMemoryGivesRoom(t *testing.T) {
	var m Memory
	bools := [][]bool{m.Bools(3), m.Bools(5), m.Bools(300), m.Bools(2)}
	codes := [][]int8{m.Codes(3), m.Codes(5), m.Codes(300), m.Codes(2)}
	elems := [][]answer.Reply{m.Elems(3), m.Elems(5), m.Elems(300), m.Elems(2)}
	for i, n := range []int{3, 5, 300, 2} {
		if len(bools[i]) != n || cap(bools[i]) != n || len(codes[i]) != n || cap(codes[i]) != n || len(elems[i]) != n || cap(elems[i]) != n {
			t.Errorf("room for %d: %d bools, %d codes, %d replies", n, len(bools[i]), len(codes[i]), len(elems[i]))
		}
		for j := range n {
			bools[i][j], codes[i][j], elems[i][j].N = i%2 == 0, int8(i), int64(i)
		}
	}
	for i := range bools {
		for j := range bools[i] {
			if bools[i][j] != (i%2 == 0) || codes[i][j] != int8(i) || elems[i][j].N != int64(i) {
				t.Fatalf("piece %d has become another at %d", i, j)
			}
		}
	}
	a, b := m.Counts(2), m.Counts(least)
	if len(a) != 0 || cap(a) != 2 || cap(b) != least {
		t.Errorf("counts for %d and %d", cap(a), cap(b))
	}
	a, b = append(a, 1, 2), append(b, 3)
	if a[1] != 2 || b[0] != 3 {
		t.Errorf("counts %v and %v", a, b)
	}
}

// TestMemoryForgets asks that the memory of little is kept, and none of what a client has
// sent.
func TestMemoryForgets(t *testing.T) {
	var m Memory
	m.Bools(maxKept)
	m.Codes(maxKept + 1)
	m.Elems(2)[1].Text = "sent"
	m.Hashes = make([]uint64, 7, maxKept)
	m.Digests = make([]redisbloom.Digest, 7, maxKept+1)
	m.Seconds = make([]uint64, maxKept+1)
	m.Payload = make([]byte, maxPayload+1)
	m.Shadow = &shadow.Shadow{}
	kept := m.elems
	if m.Reuse(); len(m.Hashes) != 0 || len(m.Payload) != 0 || len(m.bools) != maxKept {
		t.Errorf("digests are not used again: %d hashes, %d bytes; or answers are: %d", len(m.Hashes), len(m.Payload), len(m.bools))
	}
	m.Reset()
	if cap(m.bools) != maxKept || m.codes != nil || m.Digests != nil || cap(m.Hashes) != maxKept || m.Seconds != nil || m.Shadow != nil || m.Payload != nil {
		t.Errorf("after a reset: room for %d bools, %d codes, %d digests, %d hashes", cap(m.bools), cap(m.codes), cap(m.Digests), cap(m.Hashes))
	}
	if kept[1].Text != "" {
		t.Error("what a client has sent is still there")
	}
}
