package web

// Latencies by command, of the last minute.

import (
	"sync"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
)

// spans is into how many spans of time LATENCY HISTOGRAM sorts calls: up to 1,024 ns,
// 2,048 ns, 4,096 ns and so on. It names them by whole microseconds: 1, 2, 4 to 33, 66.
const spans = 24

// timings is how long the calls of a command took.
type timings struct {
	calls int64
	took  [spans]int64 // calls by the span of their time, each counted once
	here  [spans]int64 // the same without waits for other nodes; nothing if there were none
}

// timingsOf reads the reply of LATENCY HISTOGRAM. There every span has the calls of
// those before it, too.
func timingsOf(r *answer.Reply) map[string]timings {
	all := map[string]timings{}
	for i := 0; i+1 < len(r.Elems); i += 2 {
		of := &r.Elems[i+1]
		all[r.Elems[i].Text] = timings{at(of, "calls").N, bySpan(at(of, "histogram_usec")), bySpan(at(of, "histogram_usec_in_node"))}
	}
	return all
}

func bySpan(r *answer.Reply) (took [spans]int64) {
	sum, pairs := int64(0), r.Elems
	for j := 0; j+1 < len(pairs); j += 2 {
		span := 0
		for most := pairs[j].N; most > 1 && span < spans-1; most /= 2 {
			span++
		}
		took[span] = pairs[j+1].N - sum
		sum = pairs[j+1].N
	}
	return took
}

// since returns what has come to before. Counters that were reset begin again.
func (t timings) since(before timings) timings {
	if t.calls < before.calls {
		return t
	}
	t.calls -= before.calls
	for i := range t.took {
		t.took[i] = max(0, t.took[i]-before.took[i])
		t.here[i] = max(0, t.here[i]-before.here[i])
	}
	return t
}

// percentile returns below how many microseconds a share of the calls was, nil if
// there were none. Within a span calls are taken to be spread evenly.
func (t *timings) percentile(share float64) any { return percentile(&t.took, share) }

func percentile(took *[spans]int64, share float64) any {
	total := int64(0)
	for _, n := range took {
		total += n
	}
	if total == 0 {
		return nil
	}
	rank := share * float64(total)
	low, high := 0.0, 1.024 // a span of Redis ends at 1,024 ns, and so on
	for _, n := range took {
		if float64(n) >= rank && n > 0 {
			return low + (high-low)*rank/float64(n)
		}
		rank -= float64(n)
		low, high = high, 2*high
	}
	return low
}

// The window over which latencies are shown, and how often a sample of the counters
// is kept for that.
const (
	recentWindow = time.Minute
	recentEvery  = 5 * time.Second
)

// recent is what the counters of commands were within the last minute: each time
// somebody asks for them. The zero value is ready to use.
//
// Safe for concurrent use.
type recent struct {
	// mu guards samples.
	mu      sync.Mutex
	samples []sample // oldest first
}

type sample struct {
	at       time.Time
	commands map[string]timings
}

// pass keeps what the counters are now, and returns what they were up to a minute
// ago: an empty sample of the time zero if nobody has asked for so long.
func (r *recent) pass(now time.Time, commands map[string]timings) (before sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.samples) > 0 && (now.Sub(r.samples[0].at) > recentWindow || now.Before(r.samples[0].at)) {
		r.samples = r.samples[1:]
	}
	if len(r.samples) > 0 {
		before = r.samples[0]
	}
	if n := len(r.samples); n == 0 || now.Sub(r.samples[n-1].at) >= recentEvery {
		r.samples = append(r.samples, sample{now, commands})
	}
	return before
}
