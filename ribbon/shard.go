package ribbon

import (
	"slices"

	"github.com/bloomery/bloomery/internal/shards"
)

const (
	// maxLayers bounds the layers of a shard. Four million keys need five; more
	// come only from hashes that are not well mixed or were made to collide.
	maxLayers = 12
	// lineWords is what the parts of a payload are padded to: a cache line.
	lineWords = 8
	// shardWords and layerWords are what a shard and a layer take in the
	// directory.
	shardWords = 2
	layerWords = 2
)

// shard is a part of the keys: tables for most of them, and a sorted list of
// the hashes of the few that are left. A key that has no room in a layer is
// looked for in the next one.
type shard struct {
	layers []layer
	list   []uint64
	values []uint64 // of the keys in the list, in a map
}

// built is a shard as it is stored.
type built struct {
	keys   int // without duplicates
	shapes []shape
	list   int      // length of the list
	words  []uint64 // layers, list, values of the list, zeros up to a whole line
}

// listable returns how many keys are better listed: their hashes take no more
// than the smallest layer.
func listable(w *width, r int) int { return (w.words()+1)*r + 4 }

// build makes a shard of the keys with these hashes, which it overwrites. Its
// words are good until the next one is built.
func (f *filling) build(hashes []uint64) built {
	f.values = nil
	return f.buildOf(shards.Dedupe(hashes))
}

// buildOf is build for sorted hashes without duplicates, to which f.values
// belong if this is a map.
func (f *filling) buildOf(keys []uint64) built {
	out := built{keys: len(keys)}
	f.words = f.words[:0]
	for len(keys)*f.field.listWords() > listable(f.w, f.r) && len(out.shapes) < maxLayers {
		blocks := f.w.blocks(len(keys))
		bumped := f.fill(keys, blocks)
		s := shape{blocks, f.narrow(blocks)}
		l, _ := newLayer(s, f.r, f.w, f.more(s.words(f.w, f.r)))
		f.solve(&l, blocks)
		out.shapes = append(out.shapes, s)
		keys = keys[:bumped]
		f.sort(keys)
	}
	out.list = len(keys)
	f.words = append(f.words, keys...)
	if f.values != nil {
		for _, v := range f.values[:len(keys)] {
			f.words = append(f.words, uint64(v))
		}
	}
	clear(f.more(lines(len(f.words)) - len(f.words)))
	out.words = f.words
	return out
}

// more adds n words of any content to the shard and returns them.
func (f *filling) more(n int) []uint64 {
	from := len(f.words)
	f.words = slices.Grow(f.words, n)[:from+n]
	return f.words[from:]
}

// lines returns the number of words in the lines that hold n words.
func lines[N int | uint64](n N) N { return (n + lineWords - 1) &^ (lineWords - 1) }

// appendTo appends the entry of the directory.
func (b *built) appendTo(dir []uint64) []uint64 {
	dir = append(dir, uint64(len(b.shapes)), uint64(b.list))
	for _, s := range b.shapes {
		dir = append(dir, uint64(s.blocks), uint64(s.narrow))
	}
	return dir
}

// size returns how many words the shard takes, without padding.
func (b *built) size(f *table) uint64 {
	n := uint64(b.list) * uint64(f.field.listWords())
	for _, s := range b.shapes {
		n += uint64(s.words(f.w, f.r))
	}
	return n
}

// open returns the shard that is stored in words.
func (b *built) open(f *table) shard {
	words := b.words
	s := shard{layers: make([]layer, len(b.shapes))}
	for i, shape := range b.shapes {
		s.layers[i], words = newLayer(shape, f.r, f.w, words)
	}
	s.list = words[:b.list:b.list]
	if f.field.bits > 0 {
		s.values = words[b.list : 2*b.list : 2*b.list]
	}
	return s
}

// directory returns the directory of all shards, as whole lines.
func directory(all []built) []uint64 {
	var dir []uint64
	for i := range all {
		dir = all[i].appendTo(dir)
	}
	return append(dir, make([]uint64, lines(len(dir))-len(dir))...)
}
