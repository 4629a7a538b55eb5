package contents

// Layers over other filters, as contents of a part.

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/effort"
	"github.com/bloomery/bloomery/server/internal/wire"
)

const (
	// MaxLayers is how many filters layers may be over.
	MaxLayers = 16
	// MaxLayerNames is how long their names may be together: a copy is one piece.
	MaxLayerNames = 3 << 10
	// layeredVersion is the first byte of an encoding.
	layeredVersion = 1
	// besideLayer is what a layer takes beside its name.
	besideLayer = 32
)

// Layered is the names of filters that are asked one after the other, each for what those
// before it have let pass, and what became of the questions. Names never change; the filters
// that have them are found when a question is asked. Counts are about this process: neither
// the log nor a snapshot has them.
//
// Safe for concurrent use.
type Layered struct {
	names   []string
	found   atomic.Uint64
	stopped []atomic.Uint64
}

// layered is Layered as contents.
type layered struct{ *Layered }

var (
	_ Contents = layered{}
	_ Detailed = layered{}
)

// Layered returns the layers of a part, nil if it is of another kind. It needs no lock.
func (p *Part) Layered() *Layered {
	c, _ := p.contents.(layered)
	return c.Layered
}

// Names returns the names of the layers in their order. The caller must not change them.
func (l *Layered) Names() []string { return l.names }

// LayersOf returns the names of the layers that an entry stands for, none if it is of another
// kind.
func LayersOf(e *catalog.Entry) []string {
	if e.Kind != catalog.Layers {
		return nil
	}
	if l := PartOf(e).Layered(); l != nil {
		return l.names
	}
	return nil
}

// Stop counts items that layer i has stopped; Pass those that no layer has.
func (l *Layered) Stop(i, items int) { l.stopped[i].Add(uint64(items)) }

// Pass counts items that all layers have let pass.
func (l *Layered) Pass(items int) { l.found.Add(uint64(items)) }

// Stopped returns how many items layer i has stopped.
func (l *Layered) Stopped(i int) uint64 { return l.stopped[i].Load() }

func (layered) Kind() catalog.Kind                        { return catalog.Layers }
func (layered) Growth(int) (most uint64, sure bool)       { return 0, true }
func (layered) ScanDump(int64) (next int64, chunk []byte) { return 0, nil }
func (layered) Release()                                  {}
func (c layered) Stats() bloomery.Stats                   { return bloomery.Stats{Kind: "layers", Bytes: c.Bytes()} }

func (c layered) Bytes() uint64 {
	n := uint64(beside)
	for _, name := range c.names {
		n += uint64(len(name)) + besideLayer
	}
	return n
}

func (c layered) size(effort.Adding) effort.Size {
	return effort.Size{Bytes: c.Bytes(), Look: c.Bytes(), Arrays: 1}
}

// Details shows what became of the questions.
func (c layered) Details() []Detail {
	found, stopped := int64(c.found.Load()), int64(0)
	for i := range c.stopped {
		stopped += int64(c.Stopped(i))
	}
	return []Detail{
		{Name: "layers", Whole: int64(len(c.names))}, {Name: "queries", Whole: found + stopped},
		{Name: "found", Whole: found}, {Name: "stopped", Whole: stopped},
	}
}

// AppendLayers appends the header that makes layers over filters of these names.
func AppendLayers(b []byte, names []string) []byte {
	b = binary.AppendUvarint(append(b, layeredVersion), uint64(len(names)))
	for _, name := range names {
		b = wire.AppendBytes(b, name)
	}
	return b
}

// parseLayers reads what AppendLayers wrote.
func parseLayers(header []byte) (names []string, err error) {
	d := wire.Reader{Rest: header}
	version, n := d.Byte(), d.Uvarint()
	if !d.Bad && version != layeredVersion {
		return nil, fmt.Errorf("store: layers: %w: version %d, this release reads %d: a later one is needed", bloomery.ErrVersion, version, layeredVersion)
	}
	for ; n > 0 && n <= MaxLayers && !d.Bad; n-- {
		name := string(d.Bytes())
		d.Bad = d.Bad || slices.Contains(names, name)
		names = append(names, name)
	}
	if d.Bad || n > 0 || len(names) == 0 || len(d.Rest) > 0 || len(header) > MaxLayerNames+8*MaxLayers {
		return nil, corrupt("layers")
	}
	return names, nil
}

// LayerNames returns the names in what AppendLayers wrote, none if it is corrupt.
func LayerNames(header []byte) []string {
	names, _ := parseLayers(header)
	return names
}

// AppendHeader appends all there is: layers have no chunks.
func (c layered) AppendHeader(b []byte) []byte { return AppendLayers(b, c.names) }

func (c layered) Freeze() (Frozen, error) { return &frozenFilter{data: c.AppendHeader(nil)}, nil }

func layeredBytes(header []byte) (uint64, error) {
	c, err := newLayered(header, nil)
	if err != nil {
		return 0, err
	}
	return c.Bytes(), nil
}

func newLayered(header []byte, _ *memory.Arena) (Contents, error) {
	names, err := parseLayers(header)
	if err != nil {
		return nil, err
	}
	return layered{&Layered{names: names, stopped: make([]atomic.Uint64, len(names))}}, nil
}

func newLayeredSize(_ []byte, bytes uint64, _ effort.Adding) effort.Size {
	return effort.Size{Bytes: bytes, Arrays: 1}
}

// layeredLoader is a Loader of layers, which a copy has as one piece.
type layeredLoader struct{ contents Contents }

func loadLayered(first []byte, size int64, _ *memory.Arena) (Loader, error) {
	if size != int64(len(first)) {
		return nil, corrupt("copy of layers")
	}
	c, err := newLayered(first, nil)
	return layeredLoader{c}, err
}

// Put refuses a second piece.
func (layeredLoader) Put([]byte, int64) error   { return corrupt("copy of layers") }
func (l layeredLoader) Done() (Contents, error) { return l.contents, nil }
func (layeredLoader) Release()                  {}
