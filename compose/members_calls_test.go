package compose_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/compose"
)

// sequence yields n keys.
func sequence(n int) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for i := range n {
			if !yield(fmt.Append(nil, "key ", i)) {
				return
			}
		}
	}
}

// InsertSeq stops at the first key that does not fit and says how many did.
func TestStripedInsertSeq(t *testing.T) {
	s := newStriped(t, 1, 100)
	n, err := s.InsertSeq(sequence(50))
	if n != 50 || err != nil {
		t.Fatalf("InsertSeq of 50 keys = %d, %v", n, err)
	}
	n, err = newStriped(t, 1, 100).InsertSeq(sequence(100_000))
	if n < 100 || n == 100_000 || !errors.Is(err, bloomery.ErrFull) {
		t.Errorf("InsertSeq of too many keys = %d, %v", n, err)
	}
}

func TestStripedContainsKeysChecksDst(t *testing.T) {
	s := newStriped(t, 4, 100)
	defer func() {
		if recover() == nil {
			t.Error("ContainsKeys with a short dst does not panic")
		}
	}()
	s.ContainsKeys(make([]bool, 1), [][]byte{[]byte("a"), []byte("b")})
}

// WriteTo writes what MarshalBinary returns, and counts it.
func TestMembersWriteTo(t *testing.T) {
	s := newStriped(t, 4, 100)
	q, err := compose.QuorumConfig{Capacity: 100, ErrorRate: 0.01}.New()
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]func() ([]byte, []byte, int64, error){
		"striped": func() ([]byte, []byte, int64, error) {
			var out bytes.Buffer
			n, err := s.WriteTo(&out)
			want, _ := s.MarshalBinary()
			return out.Bytes(), want, n, err
		},
		"quorum": func() ([]byte, []byte, int64, error) {
			var out bytes.Buffer
			n, err := q.WriteTo(&out)
			want, _ := q.MarshalBinary()
			return out.Bytes(), want, n, err
		},
	} {
		got, want, n, err := data()
		if err != nil || n != int64(len(want)) || !bytes.Equal(got, want) {
			t.Errorf("%s: WriteTo = %d of %d bytes, %v", name, n, len(want), err)
		}
	}
}

// The joint rate of a QuorumConfig is the rate asked for, to the last members.
func TestQuorumConfigRate(t *testing.T) {
	for _, c := range []compose.QuorumConfig{
		{Capacity: 1000, ErrorRate: 0.01},
		{Capacity: 1000, ErrorRate: 0.01, Members: 1},
		{Capacity: 1000, ErrorRate: 1e-6, Members: 2, Need: 2},
		{Capacity: 1000, ErrorRate: 0.2, Members: 255, Need: 1},
		{Capacity: 1000, ErrorRate: 1e-4, Members: 5},
	} {
		q, err := c.New()
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if got := q.Stats().Asked; math.Abs(got-c.ErrorRate) > 1e-9*c.ErrorRate {
			t.Errorf("%+v: joint rate %v", c, got)
		}
		if want := max(1, c.Need, len(q.Members())/2+1); c.Need == 0 && q.Need() != want {
			t.Errorf("%+v: needs %d members", c, q.Need())
		}
	}
	for _, c := range []compose.QuorumConfig{
		{Capacity: 1000, ErrorRate: 0.01, Members: -1},
		{Capacity: 1000, ErrorRate: 0.01, Members: 256},
		{Capacity: 1000, ErrorRate: 0.01, Need: 4},
		{Capacity: 1000, ErrorRate: 0.01, Need: -1},
		{Capacity: 1000, ErrorRate: 0},
		{Capacity: 1000, ErrorRate: math.NaN()},
		{Capacity: 0, ErrorRate: 0.01},
	} {
		if _, err := c.New(); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%+v: %v, want ErrParameter", c, err)
		}
	}
}
