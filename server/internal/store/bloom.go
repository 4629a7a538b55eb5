package store

// Records of BFs.

import (
	"iter"
	"slices"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/effort"
)

// MakeBloom makes a BF from parameters.
type MakeBloom struct {
	Name   []byte
	Params redisbloom.BloomParams
}

func (*MakeBloom) op() Op                                   { return OpBloom }
func (o *MakeBloom) newName() []byte                        { return o.Name }
func (o *MakeBloom) apply(s *State, r *Record, res *Result) { s.create(o, o.Name, r, res) }
func (*MakeBloom) kind() catalog.Kind                       { return catalog.Bloom }
func (o *MakeBloom) bytes() (uint64, error)                 { return o.Params.Bytes() }

func (o *MakeBloom) fields(c coder, r *Record) coder {
	p := &o.Params
	expansion := uint64(p.Expansion)
	c = c.at(r).bytes(&o.Name).bits(&p.ErrorRate).uvarint(&p.Capacity).uvarint(&expansion).bool(&p.NonScaling)
	p.Expansion = uint32(expansion)
	return c
}

func (o *MakeBloom) contents(s *State, _ contents.Here) ([]contents.Contents, error) {
	return s.Bloom(o.Params)
}

func (o *MakeBloom) size(_ uint64, a effort.Adding) effort.Size {
	return effort.NewBloom(o.Params.Layers(a.Items), a)
}

// BloomAdd adds digests to a BF.
type BloomAdd struct {
	Digests []redisbloom.Digest
	Room    uint64 // bytes that the filter may grow by
}

func (*BloomAdd) op() Op { return OpAdd }
func (o *BloomAdd) fields(c coder, r *Record) coder {
	return c.target(r).room(&o.Room).digests(&o.Digests)
}

func (o *BloomAdd) append(b []byte, r *Record) []byte {
	return appendDigests(appendRoom(b, r, o.Room), o.Digests)
}

// Len implements Items.
func (o *BloomAdd) Len() int { return len(o.Digests) }

// Give implements Items.
func (o *BloomAdd) Give(room uint64) { o.Room = room }

// Hold implements Items.
func (o *BloomAdd) Hold(digests []redisbloom.Digest, _ []uint64) { o.Digests = digests }

func (o *BloomAdd) change(_ *State, p *contents.Part, _ *Record, res *Result) (grown int64) {
	b := p.Bloom()
	res.Size(len(o.Digests))
	layers, items := b.Layers(), b.Items()
	var before uint64
	if o.Room > 0 {
		before = b.Bytes()
	}
	res.Done, res.Err = b.AddDigests(res.Bools, o.Digests, o.Room)
	res.New = int(b.Items() - items)
	res.Changed = res.New > 0
	if b.Layers() != layers {
		grown = int64(b.Bytes() - before)
	}
	return grown
}

// effect gathers the digests that were new.
func (o *BloomAdd) effect(f *Effect, r *Record, res *Result) {
	open := &f.scratch.BloomAdd
	if !f.gathers(r, open) {
		open.Room = Unlimited
	}
	f.digests = appendAdded(f.digests, o.Digests[:res.Done], res)
	open.Digests = f.digests
}

// BloomChunk stores bytes of a dump in a BF.
type BloomChunk struct {
	Position int64 // of the byte behind them, plus one
	Data     []byte
}

func (*BloomChunk) op() Op        { return OpBloomChunk }
func (o *BloomChunk) weight() int { return len(o.Data) >> 10 }
func (o *BloomChunk) fields(c coder, r *Record) coder {
	return c.target(r).bytes(&o.Data).varint(&o.Position)
}

func (o *BloomChunk) change(_ *State, p *contents.Part, _ *Record, res *Result) int64 {
	b := p.Bloom()
	res.Err = b.LoadChunk(o.Position, o.Data)
	res.Changed = res.Err == nil && len(o.Data) > 0
	return 0
}

func (o *BloomChunk) effect(f *Effect, r *Record, _ *Result) {
	for end, piece := range chunks(o.Position, o.Data) {
		f.put(r, &BloomChunk{end, piece})
	}
}

// chunks cuts a chunk into pieces, each with its own position.
func chunks(position int64, data []byte) iter.Seq2[int64, []byte] {
	return func(yield func(int64, []byte) bool) {
		position -= int64(len(data))
		for piece := range slices.Chunk(data, maxPiece) {
			position += int64(len(piece))
			if !yield(position, piece) {
				return
			}
		}
	}
}
