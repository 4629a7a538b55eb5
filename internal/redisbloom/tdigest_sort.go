package redisbloom

import (
	"math"
	"math/bits"
)

// sortNodes sorts nodes, each a mean and a weight, by mean, with the very steps
// of RedisBloom: its quick sort is not stable, and where nodes of different
// weight have the same mean their order decides what is merged with what.
//
// A quick sort can be made to take a time that grows with the square of the
// length. Past a number of steps that no other input needs, and that no digest
// of a compression of 480 or less can reach, the rest is sorted in another way.
func sortNodes(nodes []uint64) {
	n := len(nodes) / 2
	s := nodeSort{nodes: nodes, steps: 1<<22 + 8*n*bits.Len(uint(n))}
	s.sort(0, n-1)
}

type nodeSort struct {
	nodes []uint64
	steps int // that are left
}

// sort sorts nodes lo … hi.
func (s *nodeSort) sort(lo, hi int) {
	for lo < hi {
		if hi == lo+1 {
			if s.mean(lo) > s.mean(hi) {
				s.swap(lo, hi)
			}
			return
		}
		if s.steps -= hi - lo; s.steps < 0 {
			heapSort(s.nodes[2*lo : 2*hi+2])
			return
		}
		p := s.partition(lo, hi)
		if p == lo && s.equal(lo, hi) {
			s.sortEqual(lo+1, hi)
			return
		}
		// The shorter half by a call, the longer one by the loop.
		if p-lo < hi-p {
			s.sort(lo, p-1)
			lo = p + 1
		} else {
			s.sort(p+1, hi)
			hi = p - 1
		}
	}
}

// partition moves the means below the middle one to the front and returns where
// that one is now. Whether two nodes change places is a mask and not a branch, which
// would be mispredicted half of the time.
func (s *nodeSort) partition(lo, hi int) int {
	s.swap((lo+hi)/2, hi)
	nodes := s.nodes[2*lo : 2*hi+2]
	last := len(nodes) - 2
	pivot := math.Float64frombits(nodes[last])
	front := 0
	for j := 0; j < last; j += 2 {
		mean, weight := nodes[j], nodes[j+1]
		less := uint64(0)
		if math.Float64frombits(mean) < pivot {
			less = 1
		}
		m, w := (mean^nodes[front])&-less, (weight^nodes[front+1])&-less
		nodes[front] ^= m
		nodes[front+1] ^= w
		nodes[j], nodes[j+1] = nodes[j]^m, nodes[j+1]^w
		front += 2 * int(less)
	}
	s.swap(lo+front/2, hi)
	return lo + front/2
}

// equal reports whether all means are the same.
func (s *nodeSort) equal(lo, hi int) bool {
	for i := lo + 1; i <= hi; i++ {
		if s.mean(i) != s.mean(lo) {
			return false
		}
	}
	return true
}

// sortEqual does to equal means what sort does, without looking at them.
func (s *nodeSort) sortEqual(lo, hi int) {
	for ; hi-lo >= 2; lo++ {
		s.swap((lo+hi)/2, hi)
		s.swap(lo, hi)
	}
}

func (s *nodeSort) mean(i int) float64 { return math.Float64frombits(s.nodes[2*i]) }

func (s *nodeSort) swap(i, j int) {
	n := s.nodes
	n[2*i], n[2*j] = n[2*j], n[2*i]
	n[2*i+1], n[2*j+1] = n[2*j+1], n[2*i+1]
}

// heapSort sorts nodes by mean in n·log n steps, whatever they are.
func heapSort(nodes []uint64) {
	s := nodeSort{nodes: nodes}
	n := len(nodes) / 2
	for i := n/2 - 1; i >= 0; i-- {
		s.down(i, n)
	}
	for end := n - 1; end > 0; end-- {
		s.swap(0, end)
		s.down(0, end)
	}
}

// down moves node i of the first n down to where it is not below a child.
func (s *nodeSort) down(i, n int) {
	for 2*i+1 < n {
		c := 2*i + 1
		if c+1 < n && s.mean(c) < s.mean(c+1) {
			c++
		}
		if !(s.mean(i) < s.mean(c)) {
			return
		}
		s.swap(i, c)
		i = c
	}
}
