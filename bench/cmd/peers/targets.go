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

// verdict is what a run has to say on a target.
type verdict struct {
	target
	tier   tier
	ratios []string // measured, one for each size
	short  []string // those that miss the aim
}

// verdicts returns what was measured of the targets.
func verdicts(runs []tierRun) []verdict {
	var vs []verdict
	for _, t := range targets() {
		for _, r := range runs {
			v := verdict{target: t, tier: r.Tier}
			for _, mib := range t.sizes {
				v.add(t.ratio(r, mib), mib)
			}
			if t.aim[r.Tier] != 0 && len(v.ratios) > 0 {
				vs = append(vs, v)
			}
		}
	}
	return vs
}

// add takes in the ratio at a size, or 0 for one that was not measured.
func (v *verdict) add(x float64, mib int) {
	if x == 0 {
		return
	}
	text := fmt.Sprintf("%s (%s)", report.Number(x), sizeName(mib))
	v.ratios = append(v.ratios, text)
	aim := v.aim[v.tier]
	if v.cost && x > aim || !v.cost && x < aim {
		v.short = append(v.short, text)
	}
}

// words returns the aim in words.
func (v verdict) words() string {
	if v.cost {
		return fmt.Sprintf("at most %g", v.aim[v.tier])
	}
	return fmt.Sprintf("at least %g", v.aim[v.tier])
}

// targetTable lists every target that was measured.
func targetTable(vs []verdict) *report.Table {
	table := &report.Table{Head: []string{"what", "instructions", "keys", "aim", "measured", "met"}}
	for _, v := range vs {
		table.Row(v.title, v.tier.String(), v.keys, v.words(), strings.Join(v.ratios, ", "), yesNo(len(v.short) == 0))
	}
	return table
}

// shortfalls says in words which aims were missed.
func shortfalls(vs []verdict) string {
	vs = slices.DeleteFunc(slices.Clone(vs), func(v verdict) bool { return len(v.short) == 0 })
	if len(vs) == 0 {
		return "Every aim that was measured is met.\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Where it falls short, in %d of the rows above:\n\n", len(vs))
	for _, v := range vs {
		fmt.Fprintf(&b, "- %s (%s, %v): %s, where we want %s.\n", v.title, v.keys, v.tier, strings.Join(v.short, ", "), v.words())
	}
	return b.String()
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
