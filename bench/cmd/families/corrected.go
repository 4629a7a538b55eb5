package main

import (
	"context"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bench/internal/timing"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/compose"
)

const (
	bareBloom     = "bloom.Filter"
	oursCorrected = "compose.Corrected over it"
	withReports   = "compose.Corrected, 10,000 reports"

	bytesAReport = "bytes per report"
	stillWrong   = "of 10,000 reports, false positives once more"

	reports = 10_000
)

// corrected looks for keys in a filter, in the same filter that could be corrected, and in one
// that was.
func corrected(_ context.Context, b *bench) error {
	f, err := bloom.Config{Capacity: b.n, ErrorRate: 0.01}.New()
	if err != nil {
		return err
	}
	there, others := hashesOf(present, b.n), hashesOf(absent, b.n)
	f.AddHashes(nil, there)
	empty, err := compose.NewCorrected(0, f)
	if err != nil {
		return err
	}
	full, err := compose.NewCorrected(0, f)
	if err != nil {
		return err
	}
	var wrong []uint64
	for i := uint64(1); len(wrong) < reports; i++ {
		h := bloomery.Salted(i, 0)
		if found, moment := full.AskHash(h); found && full.Report(moment) {
			wrong = append(wrong, h)
		}
	}
	again := 0
	for _, h := range wrong {
		if full.ContainsHash(h) {
			again++
		}
	}
	counts := full.Counts()
	b.note(withReports, bytesAReport, float64(counts.Bytes)/float64(counts.Held))
	b.note(withReports, stillWrong, float64(again))
	for _, c := range []struct {
		who string
		f   bloomery.Hashed
	}{{bareBloom, f}, {oursCorrected, empty}, {withReports, full}} {
		lookups(b, c.who, batch, timing.Batch, there, others, c.f.ContainsHashes)
		lookups(b, c.who, single, timing.Batch, there, others, func(dst []bool, hs []uint64) {
			for i, h := range hs {
				dst[i] = c.f.ContainsHash(h)
			}
		})
	}
	b.turns(100 * b.rounds) // short passes, and many: one in a hundred is at stake
	return nil
}

func correctedExperiments() []experiment {
	return []experiment{
		{"corrected", 1_000_000, `A blocked filter, the same one below a Corrected without a report, and below one with 10,000. All are
			called as a bloomery.Hashed, by hash.`, corrected},
		{"corrected", 10_000_000, `The same with an array that is larger than the caches of one core.`, corrected},
	}
}

func correctedAims() []aim {
	const name = "corrected/n=10000000"
	all := []aim{atMost(12, "Corrected, "+bytesAReport, figureAt(at(name, withReports, bytesAReport)))}
	for _, what := range []string{batch, single} {
		for _, keys := range []string{", hits", ", misses"} {
			all = append(all, atMost(1.01, "Corrected without reports, 10 M keys, time over the bare filter, "+what+keys,
				over(at(name, oursCorrected, what+keys), at(name, bareBloom, what+keys))))
		}
	}
	return all
}
