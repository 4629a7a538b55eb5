// What plan says about the queries that a filter saves.

package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bloomery/bloomery/internal/figures"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

// What --queries reckons with, where nothing else is given. A lookup in a filter
// larger than the caches takes about 50 ns; --fp-cost is in such lookups, and
// 1,000 of them are a read from an SSD.
const (
	lookupSeconds  = 50e-9
	defaultBehind  = 1000
	defaultAbsent  = 0.5
	littleWork     = 0.01     // cores: not worth a filter
	muchWork       = 1        // cores: not to be done without
	littleMemory   = 16 << 20 // of an exact set: keep that instead
	memoryPerExact = 2        // an exact set may take half of the memory
)

// verdicts on a filter.
const (
	overkill  = "overkill"
	fitting   = "fits"
	essential = "essential"
)

// parseQueries reads a number of queries per second: 50k/s, 1e6.
func parseQueries(s string) (uint64, error) {
	n, err := figures.Count(strings.TrimSuffix(strings.TrimSpace(s), "/s"))
	if err != nil {
		return 0, fmt.Errorf("%w, as in 50k/s", err)
	}
	return n, nil
}

// queriesJSON is what a filter is worth under queries.
type queriesJSON struct {
	PerSecond  uint64  `json:"per_second"`
	Verdict    string  `json:"verdict"`
	Without    float64 `json:"cores_without"`
	Saved      float64 `json:"cores_saved"`
	BytesSaved int64   `json:"bytes_saved"`
	reason     string
}

// worth weighs a filter in front of what is asked behind it, a disk or another
// machine, against asking that always, and against an exact set in memory.
func (p planned) worth(queries uint64) (queriesJSON, error) {
	switch {
	case len(p.advice.Kinds) == 0 || len(p.advice.Exact) == 0:
		return queriesJSON{}, errors.New("plan: --queries: no kind serves")
	case p.advice.Exact[0].Bytes == 0:
		return queriesJSON{}, solveHint(errors.New("--queries needs the number of keys: n=, or p= and m="))
	}
	behind, absent := p.needs.FalsePositiveCost, p.needs.Absent
	if behind == 0 {
		behind = defaultBehind
	}
	if absent == 0 {
		absent = defaultAbsent
	}
	take, exact := p.advice.Kinds[0], smallest(p.advice.Exact)
	work := float64(queries) * lookupSeconds
	q := queriesJSON{
		PerSecond: queries, Without: work * behind, BytesSaved: int64(exact.Bytes) - int64(take.Bytes),
		Saved: work * (absent*(1-take.ErrorRate)*behind - 1),
	}
	limit := p.needs.Memory
	if limit == 0 {
		limit = memory.Limit()
	}
	switch {
	case exact.Bytes > limit/memoryPerExact:
		q.Verdict, q.reason = essential, fmt.Sprintf("an exact set takes %s of %s", bytesText(exact.Bytes), bytesText(limit))
	case q.Saved >= muchWork:
		q.Verdict, q.reason = essential, "without it, queries for absent keys keep more than a core busy"
	case q.Saved <= 0:
		q.Verdict, q.reason = overkill, "asking the filter takes more work than it saves"
	case q.Saved < littleWork:
		q.Verdict, q.reason = overkill, "it saves less than a hundredth of a core"
	case exact.Bytes < littleMemory:
		q.Verdict, q.reason = overkill, fmt.Sprintf("an exact set takes only %s and has no false positives", bytesText(exact.Bytes))
	default:
		q.Verdict, q.reason = fitting, "it saves work, and an exact set would fit, too"
	}
	return q, nil
}

// smallest returns the exact set that takes the least memory.
func smallest(sets []sizing.Choice) sizing.Choice {
	least := sets[0]
	for _, s := range sets[1:] {
		if s.Bytes < least.Bytes {
			least = s
		}
	}
	return least
}

// text is the verdict for people, in lines of at most width characters.
func (q queriesJSON) text(width int) string {
	bytes := uint64(max(q.BytesSaved, 0))
	text := fmt.Sprintf("%s: at %s queries/s it saves %.3g of %.3g cores, and %s beside an exact set: %s",
		q.Verdict, grouped(q.PerSecond), max(q.Saved, 0), q.Without, bytesText(bytes), q.reason)
	return "\n" + wrapped(text, width, "  ") + "\n"
}

// better returns the solution with the best k, if another one was given.
func (p planned) better() (sizing.Params, bool) {
	if p.asked.K == 0 || known(p.asked) < 2 {
		return sizing.Params{}, false
	}
	free := p.asked
	free.K = 0
	best, err := sizing.Solve(free)
	return best, err == nil && best.K != p.asked.K
}

// betterText names the better k.
func (p planned) betterText() string {
	best, ok := p.better()
	if !ok {
		return ""
	}
	switch {
	case p.asked.M == 0:
		return fmt.Sprintf("better: k = %d needs %s bits instead of %s\n", best.K, grouped(best.M), grouped(p.solved.M))
	case p.asked.P == 0:
		return fmt.Sprintf("better: k = %d has the rate %s instead of %s\n", best.K, rateText(best.P), rateText(p.solved.P))
	}
	return fmt.Sprintf("better: k = %d holds %s keys instead of %s\n", best.K, grouped(best.N), grouped(p.solved.N))
}
