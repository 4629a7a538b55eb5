package store

// Records of CFs.

import (
	"errors"
	"slices"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/effort"
)

// MakeCuckoo makes a CF from parameters.
type MakeCuckoo struct {
	Name   []byte
	Params redisbloom.CuckooParams
}

func (*MakeCuckoo) op() Op                                   { return OpCuckoo }
func (o *MakeCuckoo) newName() []byte                        { return o.Name }
func (o *MakeCuckoo) apply(s *State, r *Record, res *Result) { s.create(o, o.Name, r, res) }
func (*MakeCuckoo) kind() catalog.Kind                       { return catalog.Cuckoo }
func (o *MakeCuckoo) bytes() (uint64, error)                 { return o.Params.Bytes() }
func (o *MakeCuckoo) size(bytes uint64, a effort.Adding) effort.Size {
	s := effort.Cuckoo(o.Params.Shape(), a)
	s.Grown += effort.Made(bytes, a, 2)
	return s
}

func (o *MakeCuckoo) fields(c coder, r *Record) coder {
	p := &o.Params
	return c.at(r).bytes(&o.Name).uvarint(&p.Capacity).short(&p.BucketSize).short(&p.MaxIterations).short(&p.Expansion)
}

func (o *MakeCuckoo) contents(s *State, _ contents.Here) ([]contents.Contents, error) {
	return s.Cuckoo(o.Params)
}

// CuckooInsert inserts hashes into a CF.
type CuckooInsert struct {
	New        bool // only those that it does not have
	Way        Way
	Hashes     []uint64
	Room       uint64 // bytes that the filter may grow by
	MaxFilters uint64 // sub-filters from which on inserts are refused; 0 for none
}

// Way is what becomes of the hashes of a record behind one that needs more room.
type Way uint8

const (
	// Together passes over it.
	Together Way = iota
	// Each takes every hash for a command of its own: the limit of sub-filters is asked
	// for each, and too little room stops at the first that needs more.
	Each
	// First stops at it.
	First
)

// inserts are the operations by way, and those of new ones only.
var inserts = [...][2]Op{Together: {OpInsert, OpInsertNew}, Each: {OpInsertEach, OpInsertNewEach}, First: {OpInsertFirst, OpInsertNewFirst}}

func (o *CuckooInsert) op() Op {
	if o.New {
		return inserts[o.Way][1]
	}
	return inserts[o.Way][0]
}

func (o *CuckooInsert) fields(c coder, r *Record) coder {
	return c.target(r).room(&o.Room).uvarint(&o.MaxFilters).hashes(&o.Hashes)
}

func (o *CuckooInsert) append(b []byte, r *Record) []byte {
	return appendHashes(appendUvarint(appendRoom(b, r, o.Room), o.MaxFilters), o.Hashes)
}

// Len implements Items.
func (o *CuckooInsert) Len() int { return len(o.Hashes) }

// Give implements Items.
func (o *CuckooInsert) Give(room uint64) { o.Room = room }

// Hold implements Items.
func (o *CuckooInsert) Hold(_ []redisbloom.Digest, hashes []uint64) { o.Hashes = hashes }

func (o *CuckooInsert) change(_ *State, p *contents.Part, _ *Record, res *Result) (grown int64) {
	c := p.Cuckoo()
	if o.Way != Each && o.full(c) {
		res.Err = ErrExpansions
		return 0
	}
	if cap(res.Codes) < len(o.Hashes) {
		res.Codes = make([]int8, len(o.Hashes))
	}
	res.Codes = res.Codes[:len(o.Hashes)]
	before, items, filters := c.Bytes(), c.Items(), c.Filters()
	if o.Way == Each {
		o.each(c, before, res)
	} else {
		o.together(c, before, res)
	}
	res.Changed = c.Items() != items
	if c.Filters() != filters {
		grown = int64(c.Bytes()) - int64(before)
	}
	return grown
}

// full reports whether there are as many sub-filters as there may be.
func (o *CuckooInsert) full(c *redisbloom.Cuckoo) bool {
	return o.MaxFilters > 0 && uint64(c.Filters()) >= o.MaxFilters
}

// insert inserts n hashes behind those that are done, into a filter that had so many
// bytes before, and returns how many it has looked at.
func (o *CuckooInsert) insert(c *redisbloom.Cuckoo, n int, before uint64, res *Result) (int, error) {
	codes, hashes, room := res.Codes[res.Done:res.Done+n], o.Hashes[res.Done:res.Done+n], o.Room-(c.Bytes()-before)
	if o.New {
		return c.InsertNXDigests(codes, hashes, room)
	}
	return c.InsertDigests(codes, hashes, room)
}

func (o *CuckooInsert) together(c *redisbloom.Cuckoo, before uint64, res *Result) {
	for res.Done < len(o.Hashes) {
		// What has no room does not stop the others, which may find a slot.
		n, err := o.insert(c, len(o.Hashes)-res.Done, before, res)
		res.Done += n
		if o.Way == First && errors.Is(err, contents.ErrRoom) {
			res.Err = err
			break
		}
		if res.Err == nil {
			res.Err = err
		}
		if res.Done < len(o.Hashes) {
			res.Codes[res.Done] = redisbloom.Refused
			res.Done++
		}
	}
}

// each inserts hashes each of which is a command of its own.
func (o *CuckooInsert) each(c *redisbloom.Cuckoo, before uint64, res *Result) {
	for res.Done < len(o.Hashes) {
		n := len(o.Hashes) - res.Done
		if o.full(c) {
			res.Err = ErrExpansions
			break
		}
		if o.MaxFilters > 0 { // an item adds one sub-filter at most: so many cannot pass the limit
			n = int(min(uint64(n), o.MaxFilters-uint64(c.Filters())))
		}
		done, err := o.insert(c, n, before, res)
		res.Done += done
		if err != nil {
			res.Err = err
		}
		if done < n {
			break
		}
	}
}

// effect gathers the hashes that were inserted.
func (o *CuckooInsert) effect(f *Effect, r *Record, res *Result) {
	open := &f.scratch.CuckooInsert
	if !f.gathers(r, open) {
		open.Room = Unlimited
	}
	hashes := f.hashes
	for i, h := range o.Hashes[:res.Done] {
		if res.Codes[i] == redisbloom.Inserted {
			hashes = append(hashes, h)
		}
	}
	f.hashes, open.Hashes = hashes, hashes
}

// CuckooDelete deletes hashes from a CF. If it does so lazily, a filter that takes more
// than so many steps to compact is left to be compacted in pieces: N of the result is 1
// if that is due.
type CuckooDelete struct {
	Lazily bool
	Steps  uint64
	Hashes []uint64
}

func (o *CuckooDelete) op() Op {
	if o.Lazily {
		return OpDeleteLazily
	}
	return OpDelete
}

func (o *CuckooDelete) fields(c coder, r *Record) coder {
	if c = c.target(r); o.Lazily {
		c = c.uvarint(&o.Steps)
	}
	return c.hashes(&o.Hashes)
}

func (o *CuckooDelete) append(b []byte, r *Record) []byte {
	if b = appendTarget(b, r); o.Lazily {
		b = appendUvarint(b, o.Steps)
	}
	return appendHashes(b, o.Hashes)
}

// Len implements Items.
func (o *CuckooDelete) Len() int { return len(o.Hashes) }

// Give implements Items.
func (o *CuckooDelete) Give(uint64) {}

// Hold implements Items.
func (o *CuckooDelete) Hold(_ []redisbloom.Digest, hashes []uint64) { o.Hashes = hashes }

func (o *CuckooDelete) change(_ *State, p *contents.Part, _ *Record, res *Result) (grown int64) {
	c := p.Cuckoo()
	res.Size(len(o.Hashes))
	before, filters := c.Bytes(), c.Filters()
	if !o.Lazily {
		c.DeleteDigests(res.Bools, o.Hashes)
	} else if c.DeleteDigestsLazily(res.Bools, o.Hashes, o.Steps) {
		res.N = 1
	}
	res.Changed, res.Done = slices.Contains(res.Bools, true), len(o.Hashes)
	if c.Filters() != filters {
		grown = int64(c.Bytes()) - int64(before)
	}
	return grown
}

// effect gathers the hashes that were there.
func (o *CuckooDelete) effect(f *Effect, r *Record, res *Result) {
	open := &f.scratch.CuckooDelete
	if open.Lazily != o.Lazily || open.Steps != o.Steps {
		f.close()
	}
	f.gathers(r, open)
	open.Lazily, open.Steps = o.Lazily, o.Steps
	f.hashes = appendNew(f.hashes, o.Hashes[:res.Done], res.Bools)
	open.Hashes = f.hashes
}

// CuckooCompact compacts a CF.
type CuckooCompact struct{}

func (*CuckooCompact) op() Op                          { return OpCompact }
func (*CuckooCompact) fields(c coder, r *Record) coder { return c.target(r) }

func (*CuckooCompact) change(_ *State, p *contents.Part, _ *Record, res *Result) (grown int64) {
	c := p.Cuckoo()
	before := c.Bytes()
	c.Compact()
	res.Changed = true
	return int64(c.Bytes()) - int64(before)
}

// CuckooCompactPiece is a piece of a compaction: so many slots of a sub-filter, from one
// on. The result says where the next one goes on: Done is the sub-filter, 0 at the end,
// and N the slot.
type CuckooCompactPiece struct {
	Filter uint64
	Slot   uint64
	Slots  uint64
}

func (*CuckooCompactPiece) op() Op { return OpCompactPiece }
func (o *CuckooCompactPiece) fields(c coder, r *Record) coder {
	return c.target(r).signed(&o.Slot).room(&o.Slots).uvarint(&o.Filter)
}

func (o *CuckooCompactPiece) change(_ *State, p *contents.Part, _ *Record, res *Result) (grown int64) {
	c := p.Cuckoo()
	before := c.Bytes()
	next, changed := c.CompactPiece(redisbloom.Place{Filter: o.Filter, Slot: o.Slot}, o.Slots)
	res.Changed, res.Done, res.N = changed, int(next.Filter), int64(next.Slot)
	return int64(c.Bytes()) - int64(before)
}

// CuckooChunk stores bytes of a dump in a CF.
type CuckooChunk struct {
	Position int64 // of the byte behind them, plus one
	Data     []byte
}

func (*CuckooChunk) op() Op        { return OpCuckooChunk }
func (o *CuckooChunk) weight() int { return len(o.Data) >> 10 }
func (o *CuckooChunk) fields(c coder, r *Record) coder {
	return c.target(r).bytes(&o.Data).varint(&o.Position)
}

func (o *CuckooChunk) change(_ *State, p *contents.Part, _ *Record, res *Result) int64 {
	c := p.Cuckoo()
	res.Err = c.LoadChunk(o.Position, o.Data)
	res.Changed = res.Err == nil && len(o.Data) > 0
	return 0
}

func (o *CuckooChunk) effect(f *Effect, r *Record, _ *Result) {
	for end, piece := range chunks(o.Position, o.Data) {
		f.put(r, &CuckooChunk{end, piece})
	}
}
