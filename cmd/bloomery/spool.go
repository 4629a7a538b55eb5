// Hashes that wait, in memory or in a temporary file, until their number is known.

package main

import (
	"context"
	"iter"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec/file"
	"github.com/bloomery/bloomery/internal/shards"
)

// partBits says how fine hashes in memory are cut, so that several cores can
// sort them.
const partBits = 6

// spool keeps hashes until their number is known: in memory as far as the limit
// allows, and behind that in a temporary file beside the output.
type spool struct {
	limit  int64  // bytes
	folder string // for the temporary file
	total  uint64
	repeat bool // hand on hashes as often as they came

	parts   [1 << partBits][]uint64
	scratch *file.Scratch
	spill   *shards.Spill
	bits    uint // how fine the file is cut when it is read
}

// add takes more hashes.
func (p *spool) add(hs []uint64) error {
	p.total += uint64(len(hs))
	if p.spill == nil && 8*p.total > uint64(p.limit) {
		if err := p.toDisk(); err != nil {
			return err
		}
	}
	for _, h := range hs {
		if p.spill == nil {
			i := bloomery.Route(h, partBits)
			p.parts[i] = append(p.parts[i], h)
		} else if err := p.spill.Add(h); err != nil {
			return err
		}
	}
	return nil
}

// toDisk moves all hashes to a temporary file.
func (p *spool) toDisk() (err error) {
	if p.scratch, err = file.NewScratch(p.folder); err != nil {
		return err
	}
	p.spill = shards.NewSpill(p.scratch, int(min(max(p.limit/4, shards.MinMemory), math.MaxInt)), 0)
	p.spill.KeepDuplicates = p.repeat
	for i := range p.parts {
		for _, h := range p.parts[i] {
			if err := p.spill.Add(h); err != nil {
				return err
			}
		}
		p.parts[i] = nil
	}
	return nil
}

// close removes the temporary file.
func (p *spool) close() {
	if p.scratch != nil {
		_ = p.scratch.Close() // it is of no use any more
	}
}

// flush ends the adding, and says how fine a temporary file is cut.
func (p *spool) flush(ctx context.Context) error {
	if p.spill == nil {
		return nil
	}
	if err := p.spill.Flush(); err != nil {
		return err
	}
	if 8*p.spill.Total() > uint64(p.limit) {
		if err := p.spill.Compact(ctx, uint64(p.limit)/2); err != nil {
			return err
		}
	}
	// Each worker holds one shard.
	p.bits = min(shards.Bits(8*p.spill.Total(), uint64(p.limit)/uint64(2*runtime.GOMAXPROCS(0))), p.spill.Bits())
	return nil
}

// sort sorts all parts, after flush, and returns the number of different
// hashes. Unless all are wanted, those that came before are dropped.
func (p *spool) sort(ctx context.Context) (distinct uint64, err error) {
	counts := make([]uint64, p.shards())
	err = shards.Each(ctx, p.shards(), runtime.GOMAXPROCS(0), func(_, i int) error {
		hs, err := p.load(i)
		if err != nil {
			return err
		}
		shards.Sort(hs)
		if !p.repeat && p.spill == nil {
			hs = slices.Compact(hs)
			p.parts[i] = hs
		}
		counts[i] = uint64(different(hs))
		return nil
	})
	for _, n := range counts {
		distinct += n
	}
	return distinct, err
}

// shards is the number of parts that hashes come back in.
func (p *spool) shards() int {
	if p.spill == nil {
		return len(p.parts)
	}
	return 1 << p.bits
}

// load returns the hashes of a part; those from the file are not sorted.
func (p *spool) load(i int) ([]uint64, error) {
	if p.spill == nil {
		return p.parts[i], nil
	}
	return p.spill.Load(make([]uint64, 0, p.spill.Len(i, p.bits)), i, p.bits)
}

// each hands all hashes on, part by part, sorted within each, so that the same
// lines make the same filter in whatever order they come.
func (p *spool) each(ctx context.Context, f func(hs []uint64) error) error {
	for i := range p.shards() {
		if err := ctx.Err(); err != nil {
			return err
		}
		hs, err := p.load(i)
		if err != nil {
			return err
		}
		if p.spill != nil {
			shards.Sort(hs)
			if !p.repeat {
				hs = slices.Compact(hs)
			}
		}
		if err := f(hs); err != nil {
			return err
		}
	}
	return nil
}

// all returns all hashes one by one, in no order. An error ends them, and fail
// gets it before.
func (p *spool) all(fail func(error)) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for i := range p.shards() {
			hs, err := p.load(i)
			if err != nil {
				fail(err)
				return
			}
			for _, h := range hs {
				if !yield(h) {
					return
				}
			}
		}
	}
}

// different counts the different values of a sorted slice.
func different(hs []uint64) int {
	n := 0
	for i, h := range hs {
		if i == 0 || h != hs[i-1] {
			n++
		}
	}
	return n
}

// folderOf is where temporary files for an output go.
func folderOf(output string) string {
	if output == "-" {
		return os.TempDir()
	}
	return filepath.Dir(output)
}
