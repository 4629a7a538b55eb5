package filter

// The options of FILTER.CREATE.

import (
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/sizing"
)

// What a filter is made with unless something else is asked for.
const (
	defaultCapacity = 100_000
	defaultError    = 0.01
	defaultSpan     = 24 * time.Hour
	defaultGens     = sizing.WindowGenerations
	defaultBurst    = sizing.WindowBurst
	defaultMembers  = 3
)

// The ranges of options.
const (
	maxCapacity = 1 << 40
	maxBits     = 1024
	maxHeadroom = 1000
	maxSLA      = 1_000_000_000
	minSpan     = time.Second
	maxSpan     = 10 * 365 * 24 * time.Hour
	maxGens     = 63
	maxMembers  = 255
	maxBudget   = 1 << 50
)

// options are those of FILTER.CREATE.
type options struct {
	kind     string
	capacity uint64
	rate     float64
	bits     float64 // per key; 0 if the rate decides
	headroom uint64  // percent
	seed     uint64
	like     []byte
	keyed    string
	parts    uint64 // 0 for as many as it takes
	least    uint64 // so many at least, unless parts are given; 0 for one
	span     time.Duration
	gens     uint64
	burst    float64
	members  uint64
	need     uint64
	sla      uint64
	budget   uint64
	level    uint64 // of the cluster, see Contents.Level
	spread   bool   // nodes hold different contents
	replicas uint64 // nodes of a cluster that hold it; 0 for as many as hold any other
	news     uint64 // changes to keep for followers; 0 for a share of the filter
	nx       bool

	given  map[string]bool // words that were there
	hasher hashing.Hasher
	room   room
}

// words are the options that take a value.
var words = map[string]func(o *options, arg []byte) string{
	"capacity": func(o *options, arg []byte) string { return number(arg, &o.capacity, 1, maxCapacity, "CAPACITY") },
	"error":    func(o *options, arg []byte) string { return fraction(arg, &o.rate) },
	"bits":     func(o *options, arg []byte) string { return real(arg, &o.bits, 1, maxBits, "BITS") },
	"headroom": func(o *options, arg []byte) string { return number(arg, &o.headroom, 0, maxHeadroom, "HEADROOM") },
	"seed": func(o *options, arg []byte) string {
		v, err := strconv.ParseUint(string(arg), 10, 64)
		if o.seed = v; err != nil {
			return "ERR SEED must be a whole number from 0 to 18446744073709551615"
		}
		return ""
	},
	"like":  func(o *options, arg []byte) string { o.like = arg; return "" },
	"keyed": func(o *options, arg []byte) string { o.keyed = string(arg); return "" },
	"parts": func(o *options, arg []byte) string {
		if text := number(arg, &o.parts, 1, store.MaxParts, "PARTS"); text != "" {
			return text
		}
		if bits.OnesCount64(o.parts) != 1 {
			return "ERR PARTS must be a power of two from 1 to " + strconv.Itoa(store.MaxParts)
		}
		return ""
	},
	"span": func(o *options, arg []byte) string {
		d, err := time.ParseDuration(string(arg))
		if err != nil || d < minSpan || d > maxSpan {
			return "ERR SPAN must be a time from 1s to 87600h, such as 24h or 90m"
		}
		o.span = d
		return ""
	},
	"generations": func(o *options, arg []byte) string { return number(arg, &o.gens, 1, maxGens, "GENERATIONS") },
	"burst":       func(o *options, arg []byte) string { return real(arg, &o.burst, 1, maxGens, "BURST") },
	"members":     func(o *options, arg []byte) string { return number(arg, &o.members, 1, maxMembers, "MEMBERS") },
	"need":        func(o *options, arg []byte) string { return number(arg, &o.need, 1, maxMembers, "NEED") },
	"sla":         func(o *options, arg []byte) string { return number(arg, &o.sla, 1, maxSLA, "SLA") },
	"budget":      func(o *options, arg []byte) string { return number(arg, &o.budget, 1, maxBudget, "BUDGET") },
	"news":        func(o *options, arg []byte) string { return number(arg, &o.news, 1, store.MaxNews, "NEWS") },
	"replicas": func(o *options, arg []byte) string {
		if answer.Is(arg, "all") {
			o.replicas = store.AllReplicas
			return ""
		}
		return number(arg, &o.replicas, 1, store.AllReplicas-1, "REPLICAS")
	},
}

// number reads a whole number of a range. It returns the error text, or "".
func number(arg []byte, to *uint64, low, high uint64, name string) string {
	v, ok := answer.ParseInt(arg)
	if !ok || v < 0 || uint64(v) < low || uint64(v) > high {
		return "ERR " + name + " must be a whole number from " + strconv.FormatUint(low, 10) + " to " + strconv.FormatUint(high, 10)
	}
	*to = uint64(v)
	return ""
}

// real reads a number of a range.
func real(arg []byte, to *float64, low, high float64, name string) string {
	v, ok := answer.ParseFloat(arg)
	if !ok || !(v >= low && v <= high) {
		return "ERR " + name + " must be a number from " + strconv.FormatFloat(low, 'f', -1, 64) + " to " + strconv.FormatFloat(high, 'f', -1, 64)
	}
	*to = v
	return ""
}

// fraction reads a false positive rate.
func fraction(arg []byte, to *float64) string {
	v, ok := answer.ParseFloat(arg)
	if !ok || !(v > 0 && v < 1) {
		return "ERR ERROR must be a number of more than 0 and less than 1"
	}
	*to = v
	return ""
}

// parseOptions reads what stands behind the kind, in any order. It returns the
// error text, or "".
func parseOptions(kind string, args [][]byte) (*options, string) {
	o := &options{
		kind: kind, capacity: defaultCapacity, rate: defaultError, span: defaultSpan, gens: defaultGens, burst: defaultBurst,
		members: defaultMembers, given: map[string]bool{},
	}
	for i := 0; i < len(args); i++ {
		word := answer.Lower(args[i])
		read := words[word]
		switch {
		case o.given[word]:
			return nil, "ERR " + strings.ToUpper(word) + " is there twice"
		case word == "nx":
			o.nx = true
		case word == "random":
			o.seed = rand.Uint64()
		case read == nil:
			return nil, answer.TextSyntax + ": '" + clip(args[i]) + "' is not an option of FILTER.CREATE"
		case i+1 == len(args):
			return nil, "ERR " + strings.ToUpper(word) + " needs a value"
		default:
			i++
			if text := read(o, args[i]); text != "" {
				return nil, text
			}
		}
		o.given[word] = true
	}
	return o, o.conflicts()
}

// conflicts returns why options do not go together, or "".
func (o *options) conflicts() string {
	for _, pair := range [][2]string{{"seed", "random"}, {"keyed", "seed"}, {"keyed", "random"}, {"bits", "error"}} {
		if o.given[pair[0]] && o.given[pair[1]] {
			return "ERR " + strings.ToUpper(pair[0]) + " and " + strings.ToUpper(pair[1]) + " do not go together"
		}
	}
	if o.given["like"] {
		for word := range o.given {
			switch word {
			case "like", "nx", "sla", "budget", "replicas", "news":
			default:
				return "ERR LIKE takes everything from another filter: " + strings.ToUpper(word) + " does not go with it"
			}
		}
	}
	for word, kind := range map[string]string{"span": "window", "generations": "window", "burst": "window", "members": "quorum", "need": "quorum"} {
		if o.given[word] && o.kind != kind {
			return "ERR " + strings.ToUpper(word) + " is for kind " + kind + ", not for " + o.kind
		}
	}
	switch {
	case o.burst > float64(o.gens) && o.given["burst"]:
		return "ERR BURST must be at most GENERATIONS, which is " + strconv.FormatUint(o.gens, 10)
	case o.need > o.members:
		return "ERR NEED must be at most MEMBERS, which is " + strconv.FormatUint(o.members, 10)
	case o.given["keyed"] && o.kind == "quorum":
		return "ERR KEYED is not for kind quorum: its members derive further secrets from the key, and a server without the key could not replay its log"
	}
	o.burst = min(o.burst, float64(o.gens))
	return ""
}

func clip(arg []byte) string { return string(arg[:min(len(arg), 64)]) }
