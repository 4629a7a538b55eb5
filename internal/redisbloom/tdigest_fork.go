package redisbloom

import (
	"sync/atomic"

	"github.com/bloomery/bloomery/internal/memory"
)

// sharedNodes is an array of nodes that a digest and its forks read. The digest adds nodes behind those that they
// have; whoever changes nodes that are there takes another array first.
type sharedNodes struct {
	array  []byte
	memory *memory.Arena
	users  atomic.Int32 // the digest, until it has another array, and its forks
}

// Fork returns the digest as it is now. It takes no time, and no memory until one of both is compressed or reset, or
// values are added to the fork. Arrays that only forks need are counted by Keep of the Arena.
//
// It needs exclusion, like a write. The fork then needs none: it is used, and released, while the digest changes.
func (t *TDigest) Fork() *TDigest {
	if t.shared == nil {
		t.shared = &sharedNodes{array: t.array, memory: t.memory}
		t.shared.users.Store(1)
	}
	t.shared.users.Add(1)
	f, n := *t, 2*(t.merged+t.waiting)
	f.array, f.nodes = nil, t.nodes[:n:n] // values that are added need room first
	return &f
}

// own takes another array if others read the nodes of this one. It cannot fail, since compressions do not: an Arena
// that has none left is passed over.
func (t *TDigest) own() {
	switch {
	case t.shared == nil:
		return
	case t.array != nil && t.shared.users.Load() == 1: // all forks have ended
		t.shared = nil
		return
	}
	array, nodes, err := t.memory.Words(2 * t.capacity())
	if err != nil {
		array = memory.Bytes(nodeBytes * t.capacity())
		nodes, _ = memory.Of(array)
	}
	if t.move(array, nodes); err != nil {
		t.memory = nil
	}
}

// move copies the nodes to another array.
func (t *TDigest) move(array []byte, nodes []uint64) {
	copy(nodes, t.nodes[:2*(t.merged+t.waiting)])
	t.leave()
	t.array, t.nodes = array, nodes
}

// leave gives the array up. It stays until the last fork is released.
func (t *TDigest) leave() {
	if t.shared == nil {
		t.memory.Release(t.array)
		return
	}
	s := t.shared
	t.shared = nil
	s.memory.Keep(len(t.array))
	if s.users.Add(-1) == 0 {
		s.memory.Keep(-len(s.array))
		s.memory.Release(s.array)
	}
}
