package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloomery/bloomery/bench/internal/library"
	"github.com/bloomery/bloomery/bench/internal/report"
)

// target is a ratio that we aim at.
type target struct {
	comparison
	sizes []int            // MiB
	aim   map[tier]float64 // at least, or at most for a cost
}

func vector(with512, with2 float64) map[tier]float64 {
	return map[tier]float64{avx512: with512, avx2: with2}
}

func pure(aim float64) map[tier]float64 { return map[tier]float64{goOnly: aim} }

func always(aim float64) map[tier]float64 {
	return map[tier]float64{avx512: aim, avx2: aim, goOnly: aim}
}

// targets returns what we aim at.
func targets() []target {
	const has, hasOne = library.HasBatch, library.HasOne
	all, large := []int{1, 16, 256, 1024}, []int{256, 1024}
	with := func(section, title string, ours, theirs side, keys string) comparison {
		return comparison{section: section, title: title, ours: ours, theirs: theirs, keys: keys}
	}
	blob, parquet, bits := side{blobloom8.who, hasOne}, side{parquet8.who, hasOne}, side{bits8.who, hasOne}
	batch8 := func(keys string) comparison {
		return with("hashes", "ContainsHashes against blobloom, k = 8", side{ours8.who, has}, blob, keys)
	}
	single := func(c contestant) comparison {
		return with("hashes", fmt.Sprintf("ContainsHash against blobloom, k = %d", c.k), side{c.who, hasOne}, blob, hits)
	}
	single8P := with("hashes", "ContainsHash against parquet-go Check", side{ours8.who, hasOne}, parquet, hits)
	batch6 := with("hashes", "ContainsHashes against blobloom, k = 6", side{ours6.who, has}, blob, hits)
	quiet := with("hashes", "AddHashes against blobloom", side{ours8.who, library.AddBatch}, side{blobloom8.who, library.AddOne}, adds)
	std := func(keys string) comparison {
		return with("standard", "Standard.Contains against bits-and-blooms", side{standard7.who, hasOne}, side{bits7.who, hasOne}, keys)
	}
	ts := []target{
		{batch8(hits), large, vector(4.8, 4.3)},
		{batch8(misses), large, vector(3.2, 3.0)},
		{batch8(hits), []int{1}, vector(4.0, 3.2)},
		{batch8(misses), []int{1}, vector(7, 6.5)},
		{quiet, all, vector(3.8, 3.6)},
		{addAnswers, all, vector(3.5, 3.2)},
		{single(ours8), all, vector(1.8, 1.8)},
		{single8P, []int{1}, vector(0.9, 0.9)},
		{single8P, []int{16, 256, 1024}, vector(1.0, 1.0)},
		{with("hashes", "ContainsHashes against parquet-go Check", side{ours8.who, has}, parquet, hits), all, vector(1.6, 1.6)},
		{with("hashes", "Split.ContainsHashes against parquet-go Check", side{split8.who, has}, parquet, hits), all, vector(1.6, 1.6)},
		{with("hashes", "Split.ContainsHashes against arrow-go CheckBulk", side{split8.who, has}, side{arrow8.who, has}, hits), all, vector(2, 2)},
		{toFloor(hits), []int{256}, vector(1.3, 1.7)},
		{toFloor(hits), []int{1024}, vector(1.2, 1.4)},
	}
	for _, keys := range []string{hits, misses} {
		ts = append(ts,
			target{with("8-byte keys", "8-byte keys, batch, against bits-and-blooms", side{ours8.who, has}, bits, keys), []int{256}, vector(25, 25)},
			target{with("24-byte keys", "24-byte keys, batch, against bits-and-blooms", side{ours8.who, has}, bits, keys), []int{256}, vector(15, 15)})
	}
	return append(append(ts, concurrentTargets()...),
		target{batch8(hits), []int{16, 256}, pure(1.4)},
		target{batch8(misses), []int{16, 256}, pure(1.1)},
		target{batch6, []int{16}, pure(1.0)},
		target{batch6, []int{256}, pure(1.4)},
		target{single(ours6), []int{16, 256}, pure(0.9)},
		target{std(hits), []int{1}, always(3.3)},
		target{std(misses), []int{1}, always(3.8)},
	)
}

// verdict is what the runs have to say on a target: the worst ratio of each
// instruction set that it is for.
type verdict struct {
	target
	tiers, aims, worst []string
	missed             bool
}

// verdicts returns what was measured of the targets.
func verdicts(runs []tierRun) []verdict {
	var vs []verdict
	for _, t := range targets() {
		v := verdict{target: t}
		for _, r := range runs {
			v.add(r)
		}
		if len(v.worst) > 0 {
			vs = append(vs, v)
		}
	}
	return vs
}

// add takes in the ratios of a run, if the target is for its instruction set.
func (v *verdict) add(r tierRun) {
	worst := 0.0 // nothing measured
	for _, mib := range v.sizes {
		if x := v.ratio(r, mib); x != 0 && (worst == 0 || v.cost == (x > worst)) {
			worst = x
		}
	}
	aim := v.aim[r.Tier]
	if aim == 0 || worst == 0 {
		return
	}
	v.tiers, v.aims = append(v.tiers, r.Tier.String()), append(v.aims, fmt.Sprint(aim))
	text := report.Number(worst)
	if v.cost == (worst > aim) && worst != aim {
		text, v.missed = "**"+text+"**", true
	}
	v.worst = append(v.worst, text)
}

// words returns the aim in words.
func (v verdict) words() string {
	aims := strings.Join(slices.Compact(slices.Clone(v.aims)), "/")
	if v.cost {
		return "at most " + aims
	}
	return "at least " + aims
}

// targetTable lists targets that were measured.
func targetTable(vs []verdict) *report.Table {
	table := &report.Table{Head: []string{"what", "keys", "sizes", "instructions", "aim", "worst"}}
	for _, v := range vs {
		sizes := sizeName(v.sizes[0])
		if last := v.sizes[len(v.sizes)-1]; last != v.sizes[0] {
			sizes += "–" + sizeName(last)
		}
		table.Row(v.title, v.keys, sizes, strings.Join(v.tiers, "/"), v.words(), strings.Join(v.worst, "/"))
	}
	return table
}

func yesNo(ok bool) string {
	if ok {
		return "yes"
	}
	return "**no**"
}

func sizeName(mib int) string {
	if mib >= 1024 {
		return fmt.Sprintf("%d GiB", mib/1024)
	}
	return fmt.Sprintf("%d MiB", mib)
}
