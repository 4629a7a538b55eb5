package cuckoo

import "github.com/bloomery/bloomery/internal/kernel"

// A key whose two buckets are full gets room by moves: a fingerprint in one of
// them goes to its other bucket, whose fingerprint goes on, until one comes
// to a free slot. The search for such a path only reads. It goes through the
// tree of all buckets that one move, two moves, and so on lead to:
//
//	tree   [ i | j | 4 of i | 4 of j | 16 of those of i | 16 of those of j | ...
//	         0   1   2 ...    6 ...    10 ...
//
// so the buckets that slots 0 to 3 of node k lead to are nodes 4k+2 to 4k+5.
// The first free slot is found by the fewest moves, and a shortest path visits
// no bucket twice, so that the moves cannot disturb each other. Nothing here is
// random: one history leads to one array.
const (
	// nearNodes is for the tree of two moves, of which slots lead to 170
	// buckets: enough for nearly all keys up to a load of 90%.
	nearNodes = 2 + 8 + 32
	// farNodes adds two moves and 2,560 buckets. The first key is refused at
	// a load of 97% instead of 96; one more move would gain half a percent.
	farNodes = nearNodes + 128 + 512

	// nowhere is in place of a bucket that leads back to where it was found.
	nowhere = ^uint64(0)
)

// makeRoom puts a fingerprint into bucket i or j, which are full, and reports
// whether there was a way to do so. If not, nothing has changed.
//
// Different keys ask for the long search when the filter is nearly full only: one in 100,000 at a
// load of 92%, and less than half as many with each half percent less. Keys that are inserted twice
// need it from 70% on, so it is there at every load.
func makeRoom(b *kernel.Buckets, i, j, fingerprint uint64) bool {
	return makeRoomNear(b, i, j, fingerprint) || makeRoomFar(b, i, j, fingerprint)
}

func makeRoomNear(b *kernel.Buckets, i, j, fingerprint uint64) bool {
	var nodes [nearNodes]uint64
	nodes[0], nodes[1] = i, j
	return tree(nodes[:]).makeRoom(b, fingerprint)
}

// makeRoomFar is a function of its own for its stack, which takes time to
// clear.
//
//go:noinline
func makeRoomFar(b *kernel.Buckets, i, j, fingerprint uint64) bool {
	var nodes [farNodes]uint64
	nodes[0], nodes[1] = i, j
	return tree(nodes[:]).makeRoom(b, fingerprint)
}

// tree is the tree of buckets, by number.
type tree []uint64

// makeRoom puts a fingerprint into node 0 or 1 if search finds a way.
func (t tree) makeRoom(b *kernel.Buckets, fingerprint uint64) bool {
	k, s, ok := t.search(b)
	if ok {
		moved := b.Slot(t[k], s)
		b.Replace(b.Other(t[k], moved), 0, moved)
		t.follow(b, k, s, fingerprint)
	}
	return ok
}

// search looks below nodes 0 and 1 for a node whose fingerprint in slot s can be moved to a free
// slot.
func (t tree) search(b *kernel.Buckets) (node int, s uint64, ok bool) {
	for k := range t {
		from := t[k] // of now: the loop fills the nodes below
		if from == nowhere {
			t.prune(k)
			continue
		}
		back := t.parent(k)
		for s := range uint64(kernel.Slots) {
			to := b.Other(from, b.Slot(from, s))
			if b.Free(to) {
				return k, s, true
			}
			if to == back {
				to = nowhere
			}
			if child := 4*k + 2 + int(s); child < len(t) {
				t[child] = to
			}
		}
	}
	return 0, 0, false
}

// parent returns the bucket that node k was found from. Those of the key count
// as found from each other.
func (t tree) parent(k int) uint64 {
	if k < 2 {
		return t[1-k]
	}
	return t[(k-2)/4]
}

// prune lets all below node k lead nowhere.
func (t tree) prune(k int) {
	for child := 4*k + 2; child < min(4*k+6, len(t)); child++ {
		t[child] = nowhere
	}
}

// follow fills slot s of node k, whose fingerprint has been moved on, with the
// one that leads there, and so on up to the bucket of the new fingerprint.
func (t tree) follow(b *kernel.Buckets, k int, s, fingerprint uint64) {
	for k >= 2 {
		up, slot := (k-2)/4, uint64(k-2)%4
		b.SetSlot(t[k], s, b.Slot(t[up], slot))
		k, s = up, slot
	}
	b.SetSlot(t[k], s, fingerprint)
}
