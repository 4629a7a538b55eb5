package compose_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/cuckoo"
)

// posed is a filter whose Stats are made up, and that remembers the last hash.
type posed struct {
	*bloom.Filter
	stats bloomery.Stats
	last  uint64
}

func (p *posed) Stats() bloomery.Stats { return p.stats }

func (p *posed) AddHash(h uint64) bool {
	p.last = h
	return p.Filter.AddHash(h)
}

func pose(asked, predicted, sigma float64) *posed {
	return &posed{Filter: bloom.New(100, 0.01), stats: bloomery.Stats{Asked: asked, Predicted: predicted, PredictedSigma: sigma}}
}

func near(got, want float64) bool { return math.Abs(got-want) < 1e-12 }

// TestQuorumStats has joint rates that are computed by hand.
func TestQuorumStats(t *testing.T) {
	for name, c := range map[string]struct {
		need                    int
		members                 []bloomery.Hashed
		asked, predicted, sigma float64
	}{
		"one":          {1, []bloomery.Hashed{pose(0.1, 0.2, 0.03)}, 0.1, 0.2, 0.03},
		"near 1":       {1, []bloomery.Hashed{pose(0.1, 0.9, 0.3)}, 0.1, 0.9, 0.1},
		"both of two":  {2, []bloomery.Hashed{pose(0.1, 0.1, 0.03), pose(0.5, 0.5, 0.04)}, 0.05, 0.05, math.Hypot(0.03*0.5, 0.04*0.1)},
		"two of three": {2, []bloomery.Hashed{pose(0.1, 0, 0), pose(0.2, 1, 0), pose(0.3, 0.5, 0)}, 0.098, 0.5, 0},
		"one of three": {1, []bloomery.Hashed{pose(0.1, 0, 0), pose(0.2, 0, 0), pose(0.3, 0, 0)}, 1 - 0.9*0.8*0.7, 0, 0},
	} {
		q, err := compose.NewQuorum(c.need, c.members...)
		if err != nil {
			t.Fatal(err)
		}
		st := q.Stats()
		if !near(st.Asked, c.asked) || !near(st.Predicted, c.predicted) || !near(st.PredictedSigma, c.sigma) {
			t.Errorf("%s: asked %v, predicted %v by %v, want %v, %v by %v", name,
				st.Asked, st.Predicted, st.PredictedSigma, c.asked, c.predicted, c.sigma)
		}
	}
}

// TestQuorumOfSurelyWrong encodes a quorum whose joint rate rounds to 1.
func TestQuorumOfSurelyWrong(t *testing.T) {
	var members []bloomery.Hashed
	for range 60 {
		members = append(members, bloom.New(10, 0.9))
	}
	q, err := compose.NewQuorum(1, members...)
	if err != nil {
		t.Fatal(err)
	}
	if rate := q.Stats().Asked; rate != 1 {
		t.Fatalf("the joint rate is %v, not 1", rate)
	}
	data, err := q.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (compose.QuorumConfig{Open: openBloom}).Decode(data); err != nil {
		t.Errorf("Decode: %v", err)
	}
}

// TestQuorumBatches inserts in all ways, until a member is full, and asks for
// batches of one key and of many.
func TestQuorumBatches(t *testing.T) {
	var keys [][]byte
	for i := range 5000 {
		keys = append(keys, []byte{byte(i), byte(i >> 8)})
	}
	for way, insert := range map[string]func(q *compose.Quorum, keys [][]byte) (int, error){
		"InsertHashes": func(q *compose.Quorum, keys [][]byte) (int, error) {
			var hs []uint64
			for _, key := range keys {
				hs = append(hs, q.Hash(key))
			}
			return q.InsertHashes(hs)
		},
		"InsertKeys": (*compose.Quorum).InsertKeys,
		"InsertSeq": func(q *compose.Quorum, keys [][]byte) (int, error) {
			return q.InsertSeq(slices.Values(keys))
		},
	} {
		q, err := compose.NewQuorum(2, bloom.New(1000, 1e-4), cuckoo.New(1000, 0.001))
		if err != nil {
			t.Fatal(err)
		}
		n, err := insert(q, keys)
		if n < 1000 || n >= len(keys) || !errors.Is(err, bloomery.ErrFull) {
			t.Fatalf("%s: %d of %d, %v, want some and ErrFull", way, n, len(keys), err)
		}
		for _, size := range []int{0, 1, 2, n} {
			found := make([]bool, size)
			q.ContainsKeys(found, keys[:size])
			if slices.Contains(found, false) {
				t.Errorf("%s: of %d keys not all are found", way, size)
			}
		}
		other, _ := compose.NewQuorum(2, bloom.New(1000, 1e-4), cuckoo.New(1000, 0.001))
		if m, err := insert(other, keys[:10]); m != 10 || err != nil {
			t.Errorf("%s of ten keys: %d, %v", way, m, err)
		}
	}
}
