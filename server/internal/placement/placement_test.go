package placement_test

import (
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bloomery/bloomery/server/internal/placement"
)

func TestSlot(t *testing.T) {
	for key, want := range map[string]int{
		"": 0, "123456789": 12739, "{123456789}.x": 12739, "a{123456789}": 12739, "{}123456789": 1951, "foo": 12182, "foo{": placement.Slot("foo{"),
		"{user1000}.following": placement.Slot("user1000"), "foo{{bar}}zap": placement.Slot("{bar"), "foo{bar}{zap}": placement.Slot("bar"),
	} {
		if got := placement.Slot(key); got != want {
			t.Errorf("Slot(%q) = %d, want %d", key, got, want)
		}
	}
}

// TestShard asks that filters with a common hash tag lie part by part in the same shards,
// and that the parts of one are spread.
func TestShard(t *testing.T) {
	if a, b := placement.Base("{day}:mon"), placement.Base("{day}:tue"); a != b || a != placement.Slot("day")/16 {
		t.Errorf("bases %d and %d", a, b)
	}
	seen := map[int]bool{}
	for i := range uint32(placement.Shards) {
		seen[placement.Shard(placement.Shards-3, i)] = true
	}
	if len(seen) != placement.Shards || !seen[0] || !seen[placement.Shards-1] {
		t.Errorf("%d parts lie in %d shards", placement.Shards, len(seen))
	}
}

// equal returns so many nodes of one weight.
func equal(n int) (nodes []placement.Node) {
	for i := range n {
		nodes = append(nodes, placement.Node{Number: uint32(i + 1), Weight: 10})
	}
	return nodes
}

// held returns how many shards each node is to hold, and asks that every shard has its
// copies on different nodes.
func held(t *testing.T, target [][]uint32, copies int) map[uint32]int {
	t.Helper()
	n := map[uint32]int{}
	for shard, nodes := range target {
		if len(nodes) != copies {
			t.Fatalf("shard %d has %d copies, want %d", shard, len(nodes), copies)
		}
		for i, v := range nodes {
			if slices.Contains(nodes[:i], v) {
				t.Fatalf("shard %d is twice on node %d", shard, v)
			}
			n[v]++
		}
	}
	return n
}

// moved returns how many copies have another place in another placement.
func moved(from, to [][]uint32) (n int) {
	for shard := range to {
		for _, v := range to[shard] {
			if !slices.Contains(from[shard], v) {
				n++
			}
		}
	}
	return n
}

// TestTargetOfEqualNodes asks that none holds more than 1.05 of the mean, and that one
// that comes or goes moves little more than its share.
func TestTargetOfEqualNodes(t *testing.T) {
	fullest := 0.0
	for n := 3; n <= 24; n++ {
		for copies := 2 + n%2; copies <= min(n, placement.MaxCopies); copies += 2 {
			cluster := uint64(100*n + copies)
			small, large := placement.Target(cluster, equal(n), copies), placement.Target(cluster, equal(n+1), copies)
			mean := float64(placement.Shards*copies) / float64(n)
			for node, count := range held(t, small, copies) {
				fullest = max(fullest, float64(count)/mean)
				if float64(count) > 1.05*mean {
					t.Errorf("%d nodes, %d copies: node %d holds %d, the mean is %.1f", n, copies, node, count, mean)
				}
			}
			all := float64(placement.Shards * copies)
			for what, part := range map[string]float64{"comes": float64(moved(small, large)), "goes": float64(moved(large, small))} {
				if share := 1 / float64(n+1); part/all > share+0.05 {
					t.Errorf("%d nodes, %d copies: one more that %s moves %.3f of all, its share is %.3f", n, copies, what, part/all, share)
				}
			}
		}
	}
	t.Logf("3 to 24 nodes: the fullest holds %.3f of the mean", fullest)
}

// TestTargetOfManyNodes reports how 100 nodes share the shards, and a seventh node.
func TestTargetOfManyNodes(t *testing.T) {
	for _, n := range []int{6, 12, 24, 100} {
		copies, cluster := 3, uint64(7)
		small, large := placement.Target(cluster, equal(n), copies), placement.Target(cluster, equal(n+1), copies)
		all := float64(placement.Shards * copies)
		most := 0
		for _, count := range held(t, small, copies) {
			most = max(most, count)
		}
		most64, share := float64(most)*float64(n)/all, 1/float64(n+1)
		extra := float64(moved(small, large))/all - share
		t.Logf("%d nodes: the fullest holds %.3f of the mean; one more moves %.4f of all, %.4f more than its share", n, most64, share+extra, extra)
		if most64 > 1.05 || extra > 0.02 {
			t.Errorf("%d nodes: the fullest holds %.3f of the mean, one more moves %.4f beyond its share", n, most64, extra)
		}
	}
}

// TestTargetOfUnequalNodes asks that nodes hold what their memory is of all memory: none
// of them more than 1.25 of that, whatever sizes there are.
func TestTargetOfUnequalNodes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	sizes := map[string]func(i int) uint64{
		"1:2:4":  func(i int) uint64 { return 64 << 20 << (i % 3) },
		"any":    func(int) uint64 { return 64<<20 + random.Uint64N(192<<20) },
		"nearly": func(i int) uint64 { return 1<<30 + uint64(i)<<20 },
	}
	for name, size := range sizes {
		fullest := 0.0
		for n := 6; n <= 24; n += 6 {
			for copies := placement.MinCopies; copies <= 3; copies++ {
				var nodes []placement.Node
				memory, sum := map[uint32]float64{}, 0.0
				for i := range n {
					bytes := size(i)
					nodes = append(nodes, placement.Node{Number: uint32(i + 1), Weight: placement.WeightOf(bytes)})
					memory[uint32(i+1)] = float64(bytes)
					sum += float64(bytes)
				}
				for node, count := range held(t, placement.Target(uint64(n), nodes, copies), copies) {
					fair := float64(placement.Shards*copies) * memory[node] / sum
					fullest = max(fullest, float64(count)/fair)
					if float64(count) > 1.25*fair {
						t.Errorf("%s, %d nodes, %d copies: node %d holds %d shards, %.1f would be fair", name, n, copies, node, count, fair)
					}
				}
			}
		}
		t.Logf("memory %s: the fullest holds %.3f of its share", name, fullest)
	}
}

// TestTargetOfOneLargeNode asks that a node which could hold more than there is holds
// everything, and the others share the rest.
func TestTargetOfOneLargeNode(t *testing.T) {
	nodes := []placement.Node{{Number: 1, Weight: 20}, {Number: 2, Weight: 1}, {Number: 3, Weight: 3}, {Number: 4}}
	n := held(t, placement.Target(1, nodes, 2), 2)
	if n[1] != placement.Shards || n[4] != 0 || n[2] < 341 || n[2] > 342 || n[2]+n[3] != placement.Shards {
		t.Errorf("nodes hold %v", n)
	}
	if n := held(t, placement.Target(1, nodes, 5), 3); n[1] != placement.Shards || n[2] != placement.Shards || n[3] != placement.Shards {
		t.Errorf("nodes hold %v, want all each", n)
	}
	for _, nodes := range placement.Target(1, nil, 3) {
		if len(nodes) != 0 {
			t.Error("nobody holds something")
		}
	}
}

// TestTargetIsTheSameEverywhere asks that the order of nodes does not matter, and that
// what was computed once is computed by every machine and every later release.
func TestTargetIsTheSameEverywhere(t *testing.T) {
	nodes := []placement.Node{{1, 9}, {2, 10}, {3, 11}, {5, 12}, {8, 13}, {70000, 14}, {9, 0}}
	want := fmt.Sprint(placement.Target(99, nodes, 3))
	for range 5 {
		rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		if fmt.Sprint(placement.Target(99, nodes, 3)) != want {
			t.Fatal("another order of nodes has another placement")
		}
	}
	if sum := crc32.ChecksumIEEE([]byte(want)); sum != 0x87261659 {
		t.Errorf("the placement has the checksum %#x: nodes of different releases would disagree", sum)
	}
}

func TestWeightOf(t *testing.T) {
	for bytes, want := range map[uint64]placement.Weight{
		0: 1, 1 << 20: 1, 64 << 20: 13, 90 << 20: 14, 91 << 20: 14, 128 << 20: 15, 1 << 30: 21, 1 << 40: 41, math.MaxUint64: placement.MaxWeight,
	} {
		if got := placement.WeightOf(bytes); got != want {
			t.Errorf("WeightOf(%d) = %d, want %d", bytes, got, want)
		}
	}
	for bytes := uint64(1 << 20); bytes < 1<<43; bytes += bytes / 7 {
		near := math.Exp2(float64(placement.WeightOf(bytes)-1)/2) * (1 << 20)
		if r := near / float64(bytes); r > 1.19 || r < 1/1.19 {
			t.Errorf("WeightOf(%d) stands for %.0f bytes", bytes, near)
		}
	}
}
