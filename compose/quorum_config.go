package compose

import (
	"fmt"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/fields"
)

// QuorumConfig describes a Quorum of Bloom filters of one size.
type QuorumConfig struct {
	_ struct{}

	// Capacity is the number of different keys, at least 1.
	Capacity int
	// ErrorRate is the joint false positive rate at Capacity: more than 0 and
	// less than 1. Each member gets the rate that makes it so.
	ErrorRate float64
	// Members is the number of filters, 1 to 255; 0 stands for 3.
	Members int
	// Need is how many of them must agree; 0 stands for more than half.
	Need int

	// Hasher hashes the keys. The zero value is XXH3 with seed 0.
	Hasher hashing.Hasher
	// Alloc returns memory for the array of a member, see bloom.Config. It is
	// called once for each.
	Alloc func(bytes int) ([]byte, error)

	// Open returns a member from its encoding, for Decode and View, which need it:
	// members are of any family. For Decode it is codec.Open, or the Open of a
	// codec.Config with the Hasher that the members were made with; for View it
	// returns what codec.Config.View does.
	Open func(data []byte) (bloomery.Hashed, error)
}

// New returns a Quorum. Its errors wrap ErrParameter or ErrTooLarge, or are those
// of Alloc.
func (c QuorumConfig) New() (*Quorum, error) {
	q, err := c.make()
	if err != nil {
		return nil, fmt.Errorf("compose: new quorum: %w", err)
	}
	return q, nil
}

func (c QuorumConfig) make() (*Quorum, error) {
	if err := fields.Only(c, "New", "Capacity", "ErrorRate", "Members", "Need", "Hasher", "Alloc"); err != nil {
		return nil, err
	}
	if c.Members == 0 {
		c.Members = 3
	}
	if c.Need == 0 {
		c.Need = c.Members/2 + 1
	}
	switch {
	case c.Members < 1 || c.Members > MaxMembers:
		return nil, fmt.Errorf("%w: %d members, a quorum has 1 to %d", bloomery.ErrParameter, c.Members, MaxMembers)
	case c.Need < 1 || c.Need > c.Members:
		return nil, fmt.Errorf("%w: %d of %d members cannot agree", bloomery.ErrParameter, c.Need, c.Members)
	case !(c.ErrorRate > 0 && c.ErrorRate < 1):
		return nil, fmt.Errorf("%w: error rate %v is not between 0 and 1", bloomery.ErrParameter, c.ErrorRate)
	}
	each := bloom.Config{Capacity: c.Capacity, ErrorRate: memberRate(c.ErrorRate, c.Need, c.Members), Hasher: c.Hasher, Alloc: c.Alloc}
	members := make([]bloomery.Hashed, c.Members)
	for i := range members {
		f, err := each.New()
		if err != nil {
			return nil, err
		}
		members[i] = f
	}
	return newQuorum(c.Need, members)
}

// memberRate returns the largest rate of each of n members at which the joint rate
// of m of them is at most p.
func memberRate(p float64, m, n int) float64 {
	low, high := 0.0, 1.0
	for {
		mid := (low + high) / 2
		if mid == low || mid == high { // there is no number between them
			return low
		}
		if atLeast(m, slices.Repeat([]float64{mid}, n)) > p {
			high = mid
		} else {
			low = mid
		}
	}
}
