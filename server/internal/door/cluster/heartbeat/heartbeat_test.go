package heartbeat

import (
	"reflect"
	"slices"
	"testing"
)

// TestRoundTrip reads a beat as it was written, and as earlier releases write it.
func TestRoundTrip(t *testing.T) {
	want := Beat{Node: 3, Level: 1, At: 1_700_000_000_000, Digest: 1 << 60, Headroom: 1 << 62, Applied: []uint64{1, 1 << 50}, Kept: []uint64{0, 7}}
	old := len(want.Bytes(77)) - 5 // releases that know no sums end here
	want.Sums = []PartSum{{1, 2, 1 << 63}, {1 << 40, 1 << 30, 5}}
	later := len(want.Bytes(77)) - 4 // and here those that know no address
	want.Addr = "node3:6379"
	last := len(want.Bytes(77)) - 3 // and here those that cannot be asked directly
	want.Peer = "node3:16380"
	silent := len(want.Bytes(77)) - 2 // and here those that do not say how much they hold
	want.Data = 1 << 40
	quiet := len(want.Bytes(77)) - 1 // and here those that do not say why they hold no more
	want.Stuck = "shard 7: no memory"
	open := len(want.Bytes(77)) // and here those that take clients
	want.Shut = true
	b := want.Bytes(77)
	if got, err := Parse(b, 77); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Parse = %+v, %v", got, err)
	}
	if _, err := Parse(b, 78); err == nil {
		t.Error("a beat of another cluster is taken")
	}
	for n := range b {
		if _, err := Parse(b[:n], 77); (err == nil) != (n == old || n == later || n == last || n == silent || n == quiet || n == open) {
			t.Errorf("a beat cut to %d bytes is taken", n)
		}
	}
}

// TestSumsInTurn asks that beats have all sums in turn.
func TestSumsInTurn(t *testing.T) {
	var c Compared
	want := make([]PartSum, maxSums+10)
	for i := range want {
		want[i] = PartSum{Part: uint64(i), Version: 1, Sum: uint64(i) + 1}
	}
	c.own = slices.Clone(want)
	for range 2 {
		if got := append(c.Some(), c.Some()...); !slices.Equal(got, want) {
			t.Errorf("sums of two beats are %v", got)
		}
	}
	if c.own = nil; len(c.Some()) != 0 {
		t.Error("there are sums of nothing")
	}
}
