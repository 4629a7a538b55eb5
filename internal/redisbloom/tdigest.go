package redisbloom

import (
	"fmt"
	"iter"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
)

const (
	nodeBytes    = 16
	tdigestBytes = 128 // of memory, without the nodes; a test holds it
)

// TDigestParams describes a t-digest to make.
type TDigestParams struct {
	_ struct{}
	// Compression is the trade between size and accuracy, at least 1.
	// RedisBloom's default is 100.
	Compression int64
	// Memory places the nodes. Nil means the Go heap.
	Memory *memory.Arena
}

// TDigest is RedisBloom's TDIGEST: it estimates quantiles and ranks of a stream
// of numbers from a bounded number of nodes, each a mean and a weight. Make it
// with [NewTDigest] or [DecodeTDigest].
//
// The smallest and the largest value are exact, and so are all answers while
// every value has a node of its own, which is so for the first few. Beyond that
// errors are small near both ends and largest in the middle, about 1/Compression
// of the ranks and usually far less. That is experience, not a bound: values
// can be arranged so that ranks are off by much more. The order in which values
// arrive changes the answers a little.
//
// Values wait in a buffer until it is full or a query needs them: [TDigest.Compress]
// merges them. Most queries call it and so change the digest; while [TDigest.Compressed]
// reports true they change nothing.
//
// Safe for concurrent readers of a compressed digest; a writer needs exclusion.
type TDigest struct {
	array        []byte   // nil for a fork
	nodes        []uint64 // the array: mean and weight of the merged, then of the waiting
	compression  int64
	merged       int // nodes
	waiting      int
	mergedSum    int64 // weights
	waitingSum   int64
	min, max     float64
	compressions int64
	shared       *sharedNodes // if there are forks, or were; see Fork
	memory       *memory.Arena
}

// NewTDigest returns an empty digest. The error wraps bloomery.ErrParameter or
// bloomery.ErrTooLarge, or is that of Memory.Alloc.
func NewTDigest(p TDigestParams) (*TDigest, error) {
	t, err := newTDigest(p)
	if err != nil {
		return nil, err
	}
	if err := t.reserve(t.capacity()); err != nil {
		return nil, fmt.Errorf("redisbloom: new: %w", err)
	}
	return t, nil
}

// newTDigest returns a digest without memory for nodes.
func newTDigest(p TDigestParams) (*TDigest, error) {
	if _, err := p.Bytes(); err != nil {
		return nil, err
	}
	return &TDigest{compression: p.Compression, min: math.MaxFloat64, max: -math.MaxFloat64, memory: p.Memory}, nil
}

// Bytes returns how much memory NewTDigest would allocate, or its error. It
// allocates nothing.
func (p TDigestParams) Bytes() (uint64, error) {
	if p.Compression < 1 {
		return 0, fmt.Errorf("redisbloom: new: %w: compression %d", bloomery.ErrParameter, p.Compression)
	}
	if uint64(p.Compression) > maxBytes/(6*nodeBytes)-nodeBytes {
		return 0, ErrTooLarge
	}
	return tdigestBytes + nodeBytes*(6*uint64(p.Compression)+10), nil
}

// capacity returns the number of nodes that the digest may have.
func (t *TDigest) capacity() int { return int(6*t.compression + 10) }

// reserve makes room for n nodes.
func (t *TDigest) reserve(n int) error {
	array, nodes, err := t.memory.Words(2 * n)
	if err == nil {
		t.move(array, nodes)
	}
	return err
}

// Add adds values. They must be finite numbers, or the error wraps
// bloomery.ErrParameter. A digest of 2^63-1 values is full: the error wraps
// bloomery.ErrFull. The first Add after a decode makes room for all nodes: the
// error can be that of NewTDigest. On error nothing has changed.
func (t *TDigest) Add(values ...float64) error {
	for _, v := range values {
		if v-v != 0 { // NaN or infinite
			return fmt.Errorf("redisbloom: add: %w: %v is not a finite number", bloomery.ErrParameter, v)
		}
	}
	if err := t.prepare(int64(len(values))); err != nil {
		return err
	}
	for len(values) > 0 {
		n := t.room()
		n = min(n, len(values))
		low, high := t.min, t.max
		at := 2 * (t.merged + t.waiting)
		nodes := t.nodes[at : at+2*n]
		for i, v := range values[:n] {
			nodes[2*i], nodes[2*i+1] = math.Float64bits(v), 1
			if v < low {
				low = v
			}
			if v > high {
				high = v
			}
		}
		t.min, t.max = low, high
		t.waiting += n
		t.waitingSum += int64(n)
		values = values[n:]
	}
	return nil
}

// prepare checks that weight more fits and that there is memory for all nodes.
func (t *TDigest) prepare(weight int64) error {
	if t.compression == 0 {
		panic("redisbloom: change of a zero TDigest: make it with NewTDigest")
	}
	if weight > math.MaxInt64-t.Observations() {
		return fmt.Errorf("redisbloom: add: %w: %d observations", bloomery.ErrFull, t.Observations())
	}
	if len(t.nodes) < 2*t.capacity() {
		if err := t.reserve(t.capacity()); err != nil {
			return fmt.Errorf("redisbloom: add: %w", err)
		}
	}
	return nil
}

// room returns how many nodes can be added before the next compression, at
// least 1: it compresses if there is none left.
func (t *TDigest) room() int {
	last := t.capacity() - 1
	if t.merged+t.waiting >= last {
		t.Compress()
	}
	if t.merged+t.waiting >= last {
		t.halve()
	}
	return last - t.merged - t.waiting
}

// halve merges neighbours by two, the first and the last node aside. Compress
// leaves less than a quarter of the nodes that fit, with two exceptions: a low
// compression and weights that span many powers of ten, as only merges can
// give, and digests that were decoded.
func (t *TDigest) halve() {
	t.own()
	n := 1
	for i := 1; i < t.merged; i++ {
		t.nodes[2*n], t.nodes[2*n+1] = t.nodes[2*i], t.nodes[2*i+1]
		if i+2 < t.merged {
			i++
			t.join(n, i)
		}
		n++
	}
	t.merged = n
}

// join merges node i into node cur, which is before it.
func (t *TDigest) join(cur, i int) {
	t.nodes[2*cur+1] += t.nodes[2*i+1]
	mean := t.mean(cur)
	mean += float64((t.mean(i)-mean)*t.size(i)) / t.size(cur)
	t.nodes[2*cur] = math.Float64bits(mean)
}

// addNode adds a node of another digest.
func (t *TDigest) addNode(mean float64, weight int64) {
	t.room()
	at := 2 * (t.merged + t.waiting)
	t.nodes[at], t.nodes[at+1] = math.Float64bits(mean), uint64(weight)
	t.waiting++
	t.waitingSum += weight
	if mean < t.min {
		t.min = mean
	}
	if mean > t.max {
		t.max = mean
	}
}

// Merge adds the nodes of other to t, after it has compressed both. It gives
// what TDIGEST.MERGE gives if t starts empty and gets the destination, unless
// that is to be overridden, and then every source. The error is that of Add,
// and then both are compressed and not changed otherwise. A digest cannot be
// merged with itself: the error wraps bloomery.ErrParameter.
func (t *TDigest) Merge(other *TDigest) error {
	if t == other {
		return fmt.Errorf("redisbloom: merge: %w: a digest with itself", bloomery.ErrParameter)
	}
	if err := t.prepare(other.Observations()); err != nil {
		return err
	}
	t.Compress()
	other.Compress()
	for i := range other.merged + other.waiting {
		t.addNode(other.mean(i), other.weight(i))
	}
	return nil
}

// Reset forgets all values.
func (t *TDigest) Reset() {
	t.merged, t.waiting, t.mergedSum, t.waitingSum, t.compressions = 0, 0, 0, 0, 0
	t.min, t.max = math.MaxFloat64, -math.MaxFloat64
	t.own()
}

// Swap gives each of two digests what the other has.
func (t *TDigest) Swap(other *TDigest) { *t, *other = *other, *t }

func (t *TDigest) mean(i int) float64 { return math.Float64frombits(t.nodes[2*i]) }
func (t *TDigest) weight(i int) int64 { return int64(t.nodes[2*i+1]) }
func (t *TDigest) size(i int) float64 { return float64(t.weight(i)) }

// Compressed reports whether Compress has nothing to do: no value waits, or a
// single one is all there is.
func (t *TDigest) Compressed() bool { return t.waiting == 0 || t.Observations() <= 1 }

// Compress merges the values that wait. A single value goes on waiting.
func (t *TDigest) Compress() {
	if t.Compressed() {
		return
	}
	t.own()
	n := t.merged + t.waiting
	sortNodes(t.nodes[:2*n])
	sum := t.Observations()
	whole := float64(sum)
	// Products are rounded one by one, here and in the queries: a machine
	// that fuses them with additions would give other answers.
	norm := float64(t.compression) / (2 * math.Pi * whole * absLn(whole))
	cur, before := 0, 0.0
	for i := 1; i < n; i++ {
		weight := t.size(cur) + t.size(i)
		z := float64(weight * norm)
		q0, q2 := before/whole, (before+weight)/whole
		if z <= q0*(1-q0) && z <= q2*(1-q2) {
			t.join(cur, i)
			continue
		}
		before += t.size(cur)
		cur++
		t.nodes[2*cur], t.nodes[2*cur+1] = t.nodes[2*i], t.nodes[2*i+1]
	}
	t.merged, t.waiting = cur+1, 0
	t.mergedSum, t.waitingSum = sum, 0
	t.compressions++
}

// Observations returns the number of values.
func (t *TDigest) Observations() int64 { return t.mergedSum + t.waitingSum }

// Size returns the memory that RedisBloom reports for such a digest.
func (t *TDigest) Size() uint64 { return 80 + nodeBytes*uint64(t.capacity()) }

// Bytes returns the memory that the digest takes: what TDigestParams.Bytes
// returned, or less after a decode and before the next Add.
func (t *TDigest) Bytes() uint64 { return tdigestBytes + 8*uint64(len(t.nodes)) }

// GrowBytes returns how many bytes the next Add or Merge allocates: 0 but for a
// digest that was decoded.
func (t *TDigest) GrowBytes() uint64 {
	return nodeBytes*uint64(t.capacity()) - min(8*uint64(len(t.nodes)), nodeBytes*uint64(t.capacity()))
}

// TDigestStats is the state of a TDigest, as TDIGEST.INFO shows it.
type TDigestStats struct {
	Compression   int64
	Capacity      int // of nodes
	MergedNodes   int
	UnmergedNodes int
	// The weights add up to the number of values.
	MergedWeight, UnmergedWeight int64
	Compressions                 int64
	// Bytes is the memory of the digest.
	Bytes uint64
}

// Stats returns the state of the digest. It does not compress it.
func (t *TDigest) Stats() TDigestStats {
	return TDigestStats{
		Compression: t.compression, Capacity: t.capacity(),
		MergedNodes: t.merged, UnmergedNodes: t.waiting,
		MergedWeight: t.mergedSum, UnmergedWeight: t.waitingSum,
		Compressions: t.compressions, Bytes: t.Bytes(),
	}
}

// Arrays returns an iterator over the one array that the digest owns.
func (t *TDigest) Arrays() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if len(t.array) > 0 {
			yield(t.array)
		}
	}
}

// Release gives the array to the Arena, or leaves it to forks, and leaves a zero TDigest. Digests on
// the Go heap need no Release.
func (t *TDigest) Release() {
	t.leave()
	*t = TDigest{}
}
