package contents

// Contents that are made from a header.

import (
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/effort"
)

// Header says what a header is of, from which contents are made.
type Header uint8

// What headers are of.
const (
	BloomDump  Header = iota + 1 // a dump of a BF
	CuckooDump                   // a dump of a CF
	CountMinHeader
	TopKHeader
	TDigestHeader
	Creation     // what AppendCreation wrote
	Loaded       // what AppendPlan or AppendLoad wrote: parts that are filled by pieces
	LayersHeader // what AppendLayers wrote
)

// Here reports whether this node keeps a part of a filter, by its index. Other nodes keep the others.
type Here func(index int, p *Plan) bool

// maker is how contents are made from a header.
type maker struct {
	kind  catalog.Kind
	bytes func(header []byte) (uint64, error)
	make  func(header []byte, m *memory.Arena) (Contents, error)
	// many takes the place of make for filters that may have several parts.
	many func(s *Supply, header []byte, here Here) ([]Contents, error)
	size func(header []byte, bytes uint64, a effort.Adding) effort.Size
}

// makers is the table of what headers are of.
var makers = [...]maker{
	BloomDump:      {kind: catalog.Bloom, bytes: bloomDumpBytes, make: newBloomDump, size: bloomDumpSize},
	CuckooDump:     {kind: catalog.Cuckoo, bytes: cuckooDumpBytes, make: newCuckooDump, size: cuckooDumpSize},
	CountMinHeader: {kind: catalog.CountMin, bytes: countMinBytes, make: newCountMin, size: newCountMinSize},
	TopKHeader:     {kind: catalog.TopK, bytes: topKBytes, make: newTopK, size: newTopKSize},
	TDigestHeader:  {kind: catalog.TDigest, bytes: tdigestBytes, make: newTDigest, size: newTDigestSize},
	Creation:       {kind: catalog.Filter, bytes: filterBytes, many: newFilter, size: newFilterSize},
	Loaded:         {kind: catalog.Filter, bytes: loadBytes, many: newLoading},
	LayersHeader:   {kind: catalog.Layers, bytes: layeredBytes, make: newLayered, size: newLayeredSize},
}

// Kind returns the kind of what is made.
func (h Header) Kind() catalog.Kind { return makers[h].kind }

// Bytes returns the memory of what is made, or why that cannot be.
func (h Header) Bytes(header []byte) (uint64, error) {
	if h == 0 {
		return 0, ErrType
	}
	return makers[h].bytes(header)
}

// Size returns the size of contents of so many bytes when something was added.
func (h Header) Size(header []byte, bytes uint64, a effort.Adding) (s effort.Size) {
	if size := makers[h].size; size != nil {
		s = size(header, bytes, a)
	}
	return s
}

// Make makes contents from a header, one for each part.
func (s *Supply) Make(h Header, header []byte, here Here) ([]Contents, error) {
	switch from := &makers[h]; {
	case h == 0:
		return nil, ErrType
	case from.many != nil:
		return from.many(s, header, here)
	default:
		n, _ := from.bytes(header) // make has the same error
		return one(from.make(header, s.empty(n)))
	}
}

// empty returns the memory of a filter or sketch of so many bytes that is made without items.
func (s *Supply) empty(bytes uint64) *memory.Arena {
	if bytes < effort.LargeMade {
		return s.arena
	}
	return s.arena.Sparse()
}

// Bloom makes a BF.
func (s *Supply) Bloom(p redisbloom.BloomParams) ([]Contents, error) {
	n, _ := p.Bytes() // NewBloom has the same error
	p.Memory = s.empty(n)
	b, err := redisbloom.NewBloom(p)
	return one(bloom{b}, err)
}

// Cuckoo makes a CF.
func (s *Supply) Cuckoo(p redisbloom.CuckooParams) ([]Contents, error) {
	n, _ := p.Bytes() // NewCuckoo has the same error
	p.Memory = s.empty(n)
	c, err := redisbloom.NewCuckoo(p)
	return one(cuckoo{c}, err)
}

// one is contents of one part.
func one(c Contents, err error) ([]Contents, error) {
	if err != nil {
		return nil, err
	}
	return []Contents{c}, nil
}
