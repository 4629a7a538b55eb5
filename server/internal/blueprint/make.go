package blueprint

// How an empty filter of any kind is made from options.

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/sizing"
)

const (
	// partBytes is how large a part is at most, unless PARTS is given: it is
	// copied under its lock.
	partBytes = 16 << 20
	// spreadBytes takes its place where nodes hold different parts: smaller ones are spread more
	// evenly, moved in smaller steps, and fit into an answer between nodes.
	spreadBytes = 960 << 10
	// maxPartBytes is how large a part is at most with PARTS.
	maxPartBytes = 256 << 20
	// foldFrom is the size from which filters are made so that they can be
	// folded; smaller ones would be rounded up by too much.
	foldFrom = 16 << 10
)

// KindLayers is the kind of layers, which package codec does not have: they are names, and
// hold no items.
const KindLayers = "layers"

// spec is what one part of a filter is made from.
type spec struct {
	capacity int
	rate     float64 // 0 if bits decide
	bits     float64
	o        *Options
	hasher   hashing.Hasher
	alloc    func(int) ([]byte, error)
}

// makers make empty filters of those kinds that can be empty. A kind that is new in
// package codec and not here is made by its New, and takes no BITS.
var makers = map[string]func(s spec) (bloomery.Hashed, error){
	"bloom": func(s spec) (bloomery.Hashed, error) {
		return foldable(s, bloom.Config.New)
	},
	"standard": func(s spec) (bloomery.Hashed, error) {
		return foldable(s, bloom.Config.NewStandard)
	},
	"partitioned": func(s spec) (bloomery.Hashed, error) { return made(s.bloom(false).NewPartitioned()) },
	"split": func(s spec) (bloomery.Hashed, error) {
		return foldable(s, bloom.Config.NewSplit)
	},
	"scalable": scalable,
	"counting": func(s spec) (bloomery.Hashed, error) { return made(s.counting().New()) },
	"spectral": func(s spec) (bloomery.Hashed, error) { return made(s.counting().NewSpectral()) },
	"stable":   func(s spec) (bloomery.Hashed, error) { return made(s.counting().NewStable()) },
	"cuckoo": func(s spec) (bloomery.Hashed, error) {
		return made(cuckoo.Config{Capacity: s.capacity, ErrorRate: s.rate, BitsPerKey: s.bits, Hasher: s.hasher, Alloc: s.alloc}.New())
	},
	"quotient": func(s spec) (bloomery.Hashed, error) {
		return made(quotient.Config{Capacity: s.capacity, ErrorRate: s.rate, BitsPerKey: s.bits, Hasher: s.hasher, Alloc: s.alloc}.New())
	},
	"growing": func(s spec) (bloomery.Hashed, error) {
		return made(quotient.Config{Capacity: s.capacity, ErrorRate: s.rate, BitsPerKey: s.bits, Hasher: s.hasher}.NewGrowing())
	},
	"window": func(s spec) (bloomery.Hashed, error) {
		if s.bits != 0 {
			return nil, fmt.Errorf("%w: BITS is not for kind window", bloomery.ErrParameter)
		}
		return made(compose.WindowConfig{
			Capacity: s.capacity, ErrorRate: s.rate, Generations: int(s.o.Generations), Burst: s.o.Burst, Hasher: s.hasher, Alloc: s.alloc,
		}.New())
	},
	"quorum": func(s spec) (bloomery.Hashed, error) {
		if s.bits != 0 {
			return nil, fmt.Errorf("%w: BITS is not for kind quorum", bloomery.ErrParameter)
		}
		return made(compose.QuorumConfig{
			Capacity: s.capacity, ErrorRate: s.rate, Members: int(s.o.Members), Need: int(s.o.Need), Hasher: s.hasher, Alloc: s.alloc,
		}.New())
	},
}

// scalable makes a scalable filter that all nodes of the cluster can read.
func scalable(s spec) (bloomery.Hashed, error) {
	f, err := made(s.bloom(false).NewScalable())
	if err != nil || s.o.Level >= store.LevelShares {
		return f, err
	}
	s.o.room.release()
	layer := s
	layer.rate /= 40
	var first bloomery.Hashed
	if layer.rate < sizing.MinBlockedRate {
		first, err = made(layer.bloom(false).NewStandard())
	} else {
		first, err = made(layer.bloom(false).New())
	}
	if err != nil {
		return nil, err
	}
	data, err := contents.EqualLayers(first, s.rate, s.rate)
	if err != nil {
		return nil, err
	}
	return made(bloom.Config{Hasher: s.hasher}.DecodeScalable(data))
}

func (s spec) bloom(foldable bool) bloom.Config {
	return bloom.Config{Capacity: s.capacity, ErrorRate: s.rate, BitsPerKey: s.bits, Foldable: foldable, Hasher: s.hasher, Alloc: s.alloc}
}

func (s spec) counting() counting.Config {
	return counting.Config{Capacity: s.capacity, ErrorRate: s.rate, BitsPerKey: s.bits, Hasher: s.hasher, Alloc: s.alloc}
}

// foldable makes a filter that can be folded, if it is large enough for that.
func foldable[F bloomery.Hashed](s spec, create func(bloom.Config) (F, error)) (bloomery.Hashed, error) {
	f, err := made(create(s.bloom(false)))
	if err != nil || f.Stats().Bytes < foldFrom {
		return f, err
	}
	s.o.room.release()
	return made(create(s.bloom(true)))
}

// made returns f, or nil beside an error.
func made[F bloomery.Hashed](f F, err error) (bloomery.Hashed, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

// errPart means that a part would be larger than it may be.
var errPart = errors.New("a part would be too large")

// ErrMemory means that there is no room for a part, even for one that is only tried.
var ErrMemory = errors.New("not enough memory")

// room is the memory of a part that is tried: up to limit bytes, which count as
// those of the client until they are released.
type room struct {
	limit, used int
	asked       int // with the array that was refused
	hold        func(int) bool
	unhold      func(int)
}

// Within says which memory parts may take that are tried. It returns what gives it back.
func (o *Options) Within(hold func(int) bool, unhold func(int)) (release func()) {
	o.room = room{hold: hold, unhold: unhold}
	return o.room.release
}

// Wanted returns how much memory Empty has asked for, when it has failed with ErrMemory.
func (o *Options) Wanted() int { return o.room.asked }

// alloc returns n bytes. The error is errPart or ErrMemory.
func (r *room) alloc(n int) ([]byte, error) {
	if err := r.take(n); err != nil {
		return nil, err
	}
	return make([]byte, n), nil
}

// take counts n bytes.
func (r *room) take(n int) error {
	if n > r.limit-r.used {
		return errPart
	}
	if r.asked = r.used + n; !r.hold(n) {
		return ErrMemory
	}
	r.used += n
	return nil
}

// release makes it empty.
func (r *room) release() {
	r.unhold(r.used)
	r.used = 0
}

// Empty returns the outline of an empty part, and has plan say how many there are and how
// long a generation of a window is, at a time in milliseconds since 1970.
func (o *Options) Empty(plan *contents.Plan, now int64) ([]byte, error) {
	f, parts, err := o.template()
	if err != nil {
		return nil, err
	}
	plan.Parts = Log(parts)
	if w, ok := f.(*compose.Window); ok {
		plan.Generation = max(1, o.Span.Milliseconds()/int64(o.Generations))
		w.Advance(uint64(max(0, now) / plan.Generation))
	}
	return codec.AppendOutline(nil, f)
}

// template returns an empty part and the number of parts: those of o, or the
// smallest power of two with which a part is within partBytes, or spreadBytes.
func (o *Options) template() (bloomery.Hashed, uint64, error) {
	f, parts, err := o.sized()
	if n := parts * o.Members; err == nil && o.Kind == "quorum" && n > contents.MaxMade {
		err = fmt.Errorf("%d parts of %d members are %d filters, and there may be %d at most", parts, o.Members, n, contents.MaxMade)
	}
	return f, parts, err
}

// sized is template, however many members there are.
func (o *Options) sized() (bloomery.Hashed, uint64, error) {
	if o.Parts > 0 {
		f, err := o.part(o.Parts, maxPartBytes)
		if tooLarge(err) {
			err = fmt.Errorf("PARTS %d: a part would take more than %d bytes", o.Parts, maxPartBytes)
		}
		return f, o.Parts, err
	}
	least := max(1, o.Least)
	for o.Kind == "quorum" && least > 1 && least*o.Members > contents.MaxMade {
		least /= 2
	}
	for n := least; ; n *= 2 {
		limit := partBytes
		if o.Spread && n < contents.MaxParts {
			limit = spreadBytes
		}
		f, err := o.part(n, limit)
		if err == nil && f.Stats().Bytes > uint64(limit) {
			err = errPart
		}
		if !tooLarge(err) {
			return f, n, err
		}
		if n == contents.MaxParts {
			return nil, n, fmt.Errorf("CAPACITY: %d parts of %d bytes are not enough", n, partBytes)
		}
	}
}

// tooLarge reports whether smaller parts would help.
func tooLarge(err error) bool {
	return !errors.Is(err, ErrMemory) && (errors.Is(err, errPart) || errors.Is(err, bloomery.ErrTooLarge))
}

// part makes an empty part of n.
func (o *Options) part(n uint64, limit int) (bloomery.Hashed, error) {
	keys := math.Ceil(float64(o.Capacity) * (1 + float64(o.Headroom)/100) / float64(n))
	if n > 1 {
		keys += math.Ceil(4 * math.Sqrt(keys)) // parts do not get equally many
	}
	o.room.release()
	o.room.limit = limit
	s := spec{capacity: int(min(keys, MaxCapacity)), rate: o.Rate, bits: o.Bits, o: o, hasher: o.Hasher, alloc: o.room.alloc}
	if s.bits != 0 {
		s.rate = 0
	}
	if o.Kind == "growing" { // it takes about 20 bits a key, and has no Alloc
		if err := o.room.take(int(min(3*keys, MaxCapacity))); err != nil {
			return nil, err
		}
	}
	if create := makers[o.Kind]; create != nil {
		return create(s)
	}
	for _, k := range codec.Kinds() {
		if k.Name == o.Kind && s.bits == 0 {
			return k.New(s.capacity, s.rate, s.hasher)
		}
	}
	return nil, fmt.Errorf("%w: BITS is not for kind %s", bloomery.ErrParameter, o.Kind)
}

// KindNamed returns the kind that is asked for, one that is built from all its keys at once
// only with static. It returns the error text, or "".
func KindNamed(name string, static bool) (codec.Kind, string) {
	var names []string
	for _, k := range codec.Kinds() {
		if strings.EqualFold(k.Name, name) {
			if needsMore(k) {
				return k, "ERR kind " + k.Name + " is built from more than its keys: bloomery build makes one, FILTER.LOAD takes it"
			}
			if k.Features.Static && !static {
				return k, "ERR kind " + k.Name + " is built from all its keys at once: FILTER.REBUILD builds one, FILTER.LOAD takes one that was built"
			}
			return k, ""
		}
		if !needsMore(k) && (!k.Features.Static || static) {
			names = append(names, k.Name)
		}
	}
	if !static {
		names = append(names, KindLayers)
	}
	return codec.Kind{}, "ERR unknown kind '" + Clip([]byte(name)) + "'; there are " + strings.Join(names, ", ")
}

// needsMore reports whether a kind is built from values or from keys that are out, too.
func needsMore(k codec.Kind) bool { return k.Features.Get || k.Features.Out }

// Log returns the logarithm of a power of two.
func Log(n uint64) uint8 { return uint8(bits.TrailingZeros64(n)) }

// Static returns the value of the record that opens a draft of a static kind, or the error
// text, and has plan say how many parts there are.
func (o *Options) Static(row *codec.Kind, plan *contents.Plan) (header []byte, text string) {
	n, text := o.staticParts()
	if text != "" {
		return nil, text
	}
	keys := float64(o.Capacity) / float64(n)
	if n > 1 {
		keys += 4 * math.Sqrt(keys)
	}
	plan.Parts = Log(n)
	return contents.AppendStatic(nil, plan, row, o.Hasher, uint64(math.Ceil(keys)), o.Rate), ""
}

// staticParts returns how many parts a static filter has, or the error text: the hashes of a part are
// copied under its lock.
func (o *Options) staticParts() (n uint64, text string) {
	if o.Parts > 0 {
		if o.Capacity*8/o.Parts > maxPartBytes {
			text = "ERR PARTS " + strconv.FormatUint(o.Parts, 10) + ": the hashes of a part would take more than " + strconv.Itoa(maxPartBytes) + " bytes"
		}
		return o.Parts, text
	}
	most := uint64(partBytes)
	if o.Spread {
		most = spreadBytes
	}
	for n = max(1, o.Least); o.Capacity*8/n > most && n < contents.MaxParts; n *= 2 {
	}
	return n, ""
}
