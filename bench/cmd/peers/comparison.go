package main

import (
	"math"

	"github.com/bloomery/bloomery/bench/internal/library"
)

// side is one side of a comparison.
type side struct {
	who  string
	call library.Call
}

// comparison is a ratio of two times of the same section, size and run.
type comparison struct {
	section      string
	title        string
	ours, theirs side
	keys         string
	// cost turns the ratio around: how many times as long we take, not how
	// many times as fast we are.
	cost bool
}

// ratio returns the ratio at a size, or 0 if one side was not timed.
func (c comparison) ratio(r tierRun, mib int) float64 {
	ours := r.find(c.section, c.ours, c.keys, mib)
	theirs := r.find(c.section, c.theirs, c.keys, mib)
	if ours == 0 || theirs == 0 {
		return 0
	}
	if c.cost {
		return ours / theirs
	}
	return theirs / ours
}

// find returns the time of a side, or 0 if it was not timed. The floor is the
// fastest of its loops, whatever the keys.
func (r tierRun) find(section string, of side, keys string, mib int) float64 {
	best := math.Inf(1)
	for _, s := range r.Samples {
		if s.Section != section || s.Who != of.who || s.MiB != mib {
			continue
		}
		if of.who == floor || s.Call == of.call && s.Keys == keys {
			best = min(best, s.NS)
		}
	}
	if math.IsInf(best, 1) {
		return 0
	}
	return best
}

// against compares a call of ours with a call of a peer, for each kind of
// keys that the call is timed with.
func against(section, title string, ours, theirs side) []comparison {
	var cs []comparison
	for _, keys := range kindsOf(ours.call) {
		cs = append(cs, comparison{section: section, title: title, ours: ours, theirs: theirs, keys: keys})
	}
	return cs
}

// comparisons returns the ratios of the document, in its order.
func comparisons() []comparison {
	const has, hasOne, add, addOne = library.HasBatch, library.HasOne, library.AddBatch, library.AddOne
	var cs []comparison
	vs := func(section, title string, ours, theirs side) {
		cs = append(cs, against(section, title, ours, theirs)...)
	}
	vs("hashes", "batch lookups, k = 8, against blobloom", side{ours8.who, has}, side{blobloom8.who, hasOne})
	vs("hashes", "single lookups, k = 8, against blobloom", side{ours8.who, hasOne}, side{blobloom8.who, hasOne})
	vs("hashes", "batch adds, k = 8, against blobloom", side{ours8.who, add}, side{blobloom8.who, addOne})
	cs = append(cs, addAnswers)
	vs("hashes", "single adds, k = 8, against blobloom", side{ours8.who, addOne}, side{blobloom8.who, addOne})
	vs("hashes", "batch lookups, k = 8, against parquet-go Check", side{ours8.who, has}, side{parquet8.who, hasOne})
	vs("hashes", "single lookups, k = 8, against parquet-go Check", side{ours8.who, hasOne}, side{parquet8.who, hasOne})
	vs("hashes", "batch adds, k = 8, against parquet-go InsertBulk", side{ours8.who, add}, side{parquet8.who, add})
	vs("hashes", "batch lookups, k = 8, against arrow-go CheckBulk", side{ours8.who, has}, side{arrow8.who, has})
	vs("hashes", "batch lookups of bloom.Split, against parquet-go Check", side{split8.who, has}, side{parquet8.who, hasOne})
	vs("hashes", "batch lookups of bloom.Split, against arrow-go CheckBulk", side{split8.who, has}, side{arrow8.who, has})
	vs("hashes", "batch lookups, k = 8, against holiman", side{ours8.who, has}, side{holiman8.who, hasOne})
	vs("hashes", "batch lookups, k = 8, against ristretto", side{ours8.who, has}, side{ristretto8.who, hasOne})
	for _, section := range []string{"8-byte keys", "24-byte keys"} {
		vs(section, section+", batch, against bits-and-blooms", side{ours8.who, has}, side{bits8.who, hasOne})
		vs(section, section+", one by one, against bits-and-blooms", side{ours8.who, hasOne}, side{bits8.who, hasOne})
		vs(section, section+", batch, against blobloom", side{ours8.who, has}, side{blobloom8.who, hasOne})
		vs(section, section+", batch, against BoomFilters", side{ours8.who, has}, side{boom8.who, hasOne})
	}
	vs("standard", "bloom.Standard against bits-and-blooms, k = 7, 8-byte keys", side{standard7.who, hasOne}, side{bits7.who, hasOne})
	return append(cs, scaling, keyByKey, keyByKeyTogether)
}

// addAnswers is apart because blobloom does not report whether a key was new.
var addAnswers = comparison{
	section: "hashes",
	title:   "batch adds with answers, k = 8, against blobloom without",
	ours:    side{ours8.who, library.AddAnswers},
	theirs:  side{blobloom8.who, library.AddOne},
	keys:    adds,
}

// costs returns the ratios that are better the smaller they are.
func costs() []comparison { return []comparison{toFloor(hits), toFloor(misses), sharing} }

// toFloor is how far lookups are from what memory alone costs.
func toFloor(keys string) comparison {
	return comparison{
		section: "hashes",
		title:   "batch lookups, k = 8, over the floor",
		ours:    side{ours8.who, library.HasBatch},
		theirs:  side{who: floor},
		keys:    keys,
		cost:    true,
	}
}
