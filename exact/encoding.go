package exact

import (
	"fmt"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/shards"
	"github.com/bloomery/bloomery/ribbon"
)

// The payload: a front, and the stages as ribbon bodies, one behind the other. The
// map of the second stage is the last of them. Zeros fill the last line.
//
//	word 0     number of groups
//	word 1     number of keys that are out
//	bytes      class of each group, zeros up to a whole word
const (
	lineWords  = 8
	frontWords = 2
	// maxStages is a filter for each whole number of bits and one for the rate
	// that was asked for, and the map.
	maxStages = maxBits + 2
	// maxShardBits bounds the shards of all stages together, as a power of two:
	// 2^20 for each.
	maxShardBits = shards.MaxBits + 6
)

// classWords returns how many words the classes of so many groups take.
func classWords(groups uint64) uint64 { return (groups + 7) / 8 }

// assemble makes the filter of its stages.
func (b *build) assemble(classes []byte, counts []count) (*Filter, error) {
	front := make([]uint64, frontWords+classWords(uint64(len(classes))))
	front[0] = uint64(len(classes))
	for i := range counts {
		front[1] += counts[i].out
	}
	for g, class := range classes {
		front[frontWords+g/8] |= uint64(class) << (g % 8 * 8)
	}
	stages, parts := len(b.filters), 0
	body := front
	var err error
	for _, f := range b.filters {
		parts += f.Shards()
		if body, err = f.AppendBody(body); err != nil {
			return nil, err
		}
	}
	if b.bits != nil {
		stages++
		parts += b.bits.Shards()
		if body, err = b.bits.AppendBody(body); err != nil {
			return nil, err
		}
	}
	total := (len(body) + lineWords - 1) / lineWords * lineWords
	words, err := memory.Array(total, b.Alloc)
	if err != nil {
		return nil, err
	}
	copy(words, body)
	h := envelope.Header{Rate: b.ErrorRate, Extra: uint32(stages) | uint32(bits.Len(uint(max(parts, 1)-1)))<<8}
	if h.Capacity, err = b.keys(classes, counts); err != nil {
		return nil, err
	}
	f := &Filter{table{hasher: b.Hasher}}
	if err := f.attach(h, words); err != nil {
		return nil, err
	}
	return f, nil
}

// header returns the header of the encoding.
func (f *table) header() envelope.Header {
	payload := uint64(len(f.words)) * 8
	return envelope.Header{
		Kind: envelope.KindExact, Hash: f.hasher.Kind(), Check: f.hasher.Check(), Extra: f.extra,
		Capacity: f.in, Rate: f.asked, Size: payload * 8, Payload: payload,
	}
}

// load makes f what a source holds; on error f stays as it was.
func (f *table) load(given hashing.Hasher, from *envelope.Source) error {
	var got table
	h, words, err := from.Words(func(h envelope.Header) (err error) {
		if err := check(h); err != nil {
			return err
		}
		got.hasher, err = h.Hasher(given)
		return err
	})
	if err == nil {
		err = got.attach(h, words)
	}
	if err == nil {
		*f = got
	}
	return err
}

// check returns an error if a header cannot be that of a filter.
func check(h envelope.Header) error {
	if err := h.CheckKind(envelope.KindExact); err != nil {
		return err
	}
	switch {
	case h.K != 0 || h.Extra&0xff > maxStages || h.Extra>>8 > maxShardBits:
		return fmt.Errorf("%w: %d stages in 2^%d shards", bloomery.ErrCorrupt, h.Extra&0xff, h.Extra>>8)
	case h.Size != h.Payload*8 || h.Payload%(8*lineWords) != 0 || h.Payload == 0:
		return fmt.Errorf("%w: payload of %d bytes for %d bits", bloomery.ErrCorrupt, h.Payload, h.Size)
	}
	return nil
}

// attach finds groups and stages in the words of a payload.
func (f *table) attach(h envelope.Header, words []uint64) error {
	f.in, f.asked, f.extra, f.words = h.Capacity, h.Rate, h.Extra, words
	groups := words[0]
	f.out = words[1]
	rest := words[frontWords:]
	if groups < 1 || groups > MaxGroups || classWords(groups) > uint64(len(rest)) {
		return fmt.Errorf("%w: %d groups in %d words", bloomery.ErrCorrupt, groups, len(words))
	}
	classes := envelope.BytesOf(rest[:classWords(groups)])
	f.classes, rest = classes[:groups:groups], rest[classWords(groups):]
	for _, b := range classes[groups:] {
		if b != 0 {
			return fmt.Errorf("%w: bytes behind the groups are not zero", bloomery.ErrCorrupt)
		}
	}
	rest, err := f.stages(int(h.Extra&0xff), 1<<(h.Extra>>8), rest)
	if err != nil {
		return err
	}
	if len(rest) >= lineWords {
		return fmt.Errorf("%w: %d words behind the last stage", bloomery.ErrCorrupt, len(rest))
	}
	for _, w := range rest {
		if w != 0 {
			return fmt.Errorf("%w: words behind the last stage are not zero", bloomery.ErrCorrupt)
		}
	}
	if err := f.checkClasses(); err != nil {
		return err
	}
	f.weigh()
	return nil
}

// stages opens n stages of so many shards at most, and returns what is behind them.
func (f *table) stages(n, shards int, words []uint64) (rest []uint64, err error) {
	f.filters, f.bits = nil, nil
	for i := range n {
		if i == n-1 {
			f.bits, words, err = ribbon.OpenMapBody(words, shards)
			if err == nil && f.bits.ValueBits() != 1 {
				err = fmt.Errorf("%w: values of %d bits", bloomery.ErrCorrupt, f.bits.ValueBits())
			}
		} else {
			var first *ribbon.Filter
			if first, words, err = ribbon.OpenBody(words, shards); err == nil {
				shards -= first.Shards()
				f.filters = append(f.filters, first)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("stage %d: %w", i, err)
		}
	}
	return words, nil
}

// checkClasses returns an error if a group has a stage that is not there.
func (f *table) checkClasses() error {
	for g, class := range f.classes {
		switch {
		case class == allIn, class == noneIn:
		case f.bits == nil, class != byBit && int(class) >= len(f.filters):
			return fmt.Errorf("%w: group %d is of class %d, there are %d filters", bloomery.ErrCorrupt, g, class, len(f.filters))
		}
	}
	return nil
}
