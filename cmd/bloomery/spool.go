package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/bloomery/bloomery"
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

	parts [1 << partBits][]uint64
	file  *os.File
	spill *shards.Spill
	bits  uint // how fine the file is cut when it is read
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
	if p.file, err = os.CreateTemp(p.folder, ".bloomery-hashes-*"); err != nil {
		return err
	}
	// Where a file can be removed while it is open, nothing is left behind
	// even by a crash.
	_ = os.Remove(p.file.Name())
	p.spill = shards.NewSpill(p.file, int(max(p.limit/4, shards.MinMemory)))
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
	if p.file != nil {
		_ = p.file.Close()
		_ = os.Remove(p.file.Name())
	}
}

// sort ends the adding: it sorts all parts and returns the number of different
// hashes. Unless all are wanted, it drops those that came before.
func (p *spool) sort(ctx context.Context, all bool) (distinct uint64, err error) {
	workers := runtime.GOMAXPROCS(0)
	if p.spill != nil {
		if err := p.spill.Flush(); err != nil {
			return 0, err
		}
		// Each worker holds one shard.
		p.bits = min(shards.Bits(8*p.total, uint64(p.limit)/uint64(2*workers)), p.spill.Bits())
	}
	counts := make([]uint64, p.shards())
	err = shards.Each(ctx, p.shards(), workers, func(_, i int) error {
		hs, err := p.load(i)
		if err != nil {
			return err
		}
		shards.Sort(hs)
		if !all && p.spill == nil {
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
		}
		if err := f(hs); err != nil {
			return err
		}
	}
	return nil
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
