package store

// TDIGEST as contents of a part.

import (
	"encoding/binary"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// tdigest is a TDIGEST as contents. It is one pointer: an interface holds it
// without an allocation.
type tdigest struct{ *redisbloom.TDigest }

var (
	_ Contents = tdigest{}
	_ Detailed = tdigest{}
)

// TDigest returns the TDIGEST of a part, nil if it is of another kind. It belongs
// to the lock of p.
func (p *Part) TDigest() *redisbloom.TDigest {
	c, _ := p.contents.(tdigest)
	return c.TDigest
}

func (tdigest) Kind() catalog.Kind { return catalog.TDigest }

// Growth returns 0: there is room for all nodes from the beginning.
func (tdigest) Growth(int) (most uint64, sure bool) { return 0, true }

func (t tdigest) Freeze() (Frozen, error) { return t.TDigest.Freeze() }

func (t tdigest) Stats() bloomery.Stats {
	s := t.TDigest.Stats()
	nodes := s.MergedNodes + s.UnmergedNodes
	return bloomery.Stats{
		Kind: "tdigest", Items: uint64(t.Observations()), Exact: true, Bits: 128 * uint64(s.Capacity), Bytes: s.Bytes,
		Saturation: float64(nodes) / float64(s.Capacity),
	}
}

// Details shows the compression and the nodes.
func (t tdigest) Details() []Detail {
	s := t.TDigest.Stats()
	return []Detail{
		{Name: "compression", Whole: s.Compression},
		{Name: "capacity_nodes", Whole: int64(s.Capacity)},
		{Name: "merged_nodes", Whole: int64(s.MergedNodes)},
		{Name: "unmerged_nodes", Whole: int64(s.UnmergedNodes)},
		{Name: "compressions", Whole: s.Compressions},
	}
}

// AppendHeader appends all of the digest: it has no chunks.
func (t tdigest) AppendHeader(b []byte) []byte {
	b, _ = t.AppendBinary(b) // there is no error but for a digest that was never made
	return b
}

func (tdigest) ScanDump(int64) (next int64, chunk []byte) { return 0, nil }

func (t tdigest) Apply(r *Record, res *Result) (grown int64) {
	before := t.Bytes()
	switch r.Op {
	case OpTDigestAdd:
		res.Err = t.add(r)
		res.Changed = res.Err == nil
	case OpTDigestChunk:
		res.Err = t.LoadNodes(r.Value, r.Flags != 0)
		res.Changed = res.Err == nil
	case OpCompress:
		if res.Changed = !t.Compressed(); r.Ready != nil {
			*t.TDigest, *r.Ready.Digest = *r.Ready.Digest, *t.TDigest
		}
		t.Compress()
	case OpTDigestBegin:
		res.Changed = true
		if len(r.Value) == 0 {
			t.Reset()
		} else if res.Err = t.Begin(r.Value); res.Err != nil {
			res.Changed = false
		}
	default:
		res.Err = ErrType
	}
	return int64(t.Bytes()) - int64(before)
}

// AppendValue appends a value to the Value of OpTDigestAdd.
func AppendValue(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

// add adds values, all or none.
func (t tdigest) add(r *Record) error {
	const valueBytes, most = 8, 256
	n := len(r.Value) / valueBytes
	if len(r.Value)%valueBytes != 0 {
		return errPayload(r)
	}
	if int64(n) > math.MaxInt64-t.Observations() {
		return bloomery.ErrFull
	}
	for i := range n {
		if v := valueAt(r.Value, i); v-v != 0 { // NaN or infinite
			return errPayload(r)
		}
	}
	var values [most]float64
	for at := 0; at < n; at += most {
		part := values[:min(most, n-at)]
		for i := range part {
			part[i] = valueAt(r.Value, at+i)
		}
		if err := t.Add(part...); err != nil {
			return err
		}
	}
	return nil
}

func valueAt(b []byte, i int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
}

func tdigestBytes(r *Record) (uint64, error) {
	p, err := redisbloom.ParseTDigestHeader(r.Value)
	if err != nil {
		return 0, err
	}
	return p.Bytes()
}

func newTDigest(r *Record, m *redisbloom.Memory) (Contents, error) {
	p, err := redisbloom.ParseTDigestHeader(r.Value)
	if err != nil {
		return nil, err
	}
	p.Memory = m
	t, err := redisbloom.NewTDigest(p)
	if err != nil {
		return nil, err
	}
	return tdigest{t}, t.Begin(r.Value)
}

// tdigestLoader is a Loader of a TDIGEST.
type tdigestLoader struct {
	*redisbloom.Loader[*redisbloom.TDigest]
}

func loadTDigest(first []byte, size int64, m *redisbloom.Memory) (Loader, error) {
	l, err := redisbloom.NewTDigestLoader(first, size, m)
	return tdigestLoader{l}, err
}

// Done makes room for all nodes, so that the digest takes as much memory as
// before.
func (l tdigestLoader) Done() (Contents, error) {
	t, err := l.Loader.Done()
	if err != nil {
		return nil, err
	}
	return tdigest{t}, t.Add()
}
