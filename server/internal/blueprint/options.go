// Package blueprint is what an empty filter is made from: the options of FILTER.CREATE and
// FILTER.REBUILD, and the parts that fit them.
package blueprint

import (
	"errors"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/figures"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
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

// The ranges of options; MaxCapacity is the most keys that a filter can be made for.
const (
	MaxCapacity = 1 << 40
	maxBits     = 1024
	maxSLA      = 1_000_000_000
	minSpan     = time.Second
	maxSpan     = 10 * 365 * 24 * time.Hour
	maxGens     = 63
	maxMembers  = 255
	maxBudget   = 1 << 50
)

// Options are those of FILTER.CREATE. Make them with Defaults or Parse.
//
// Not safe for concurrent use.
type Options struct {
	Kind        string
	Capacity    uint64
	Rate        float64
	Bits        float64 // per key; 0 if the rate decides
	Headroom    uint64  // percent
	Seed        uint64
	Like        []byte
	Keyed       string
	Parts       uint64 // 0 for as many as it takes
	Least       uint64 // so many at least, unless Parts are given; 0 for one
	Span        time.Duration
	Generations uint64
	Burst       float64
	Members     uint64
	Need        uint64
	SLA         uint64
	Budget      uint64
	Level       uint64 // of the cluster, see Contents.Level
	Spread      bool   // nodes hold different contents
	Replicas    uint64 // nodes of a cluster that hold it; 0 for as many as hold any other
	News        uint64 // changes to keep for followers; 0 for a share of the filter
	NX          bool

	Given  map[string]bool // words that were there
	Hasher hashing.Hasher
	room   room
}

// words are the options that take a value.
var words = map[string]func(o *Options, arg []byte) string{
	"capacity": func(o *Options, arg []byte) string { return Number(arg, &o.Capacity, 1, MaxCapacity, "CAPACITY") },
	"error":    func(o *Options, arg []byte) string { return Rate(arg, &o.Rate, "ERROR") },
	"bits":     func(o *Options, arg []byte) string { return share(arg, &o.Bits, 1, maxBits, "BITS") },
	"headroom": func(o *Options, arg []byte) string {
		return read(figures.Percent, arg, &o.Headroom, 0, sizing.MaxHeadroom, "HEADROOM", "a whole number of percent", "50, 50%")
	},
	"seed": func(o *Options, arg []byte) string {
		v, err := strconv.ParseUint(string(arg), 10, 64)
		if o.Seed = v; err != nil {
			return "ERR SEED must be a whole number from 0 to 18446744073709551615"
		}
		return ""
	},
	"like":  func(o *Options, arg []byte) string { o.Like = arg; return "" },
	"keyed": func(o *Options, arg []byte) string { o.Keyed = string(arg); return "" },
	"parts": func(o *Options, arg []byte) string {
		if text := Number(arg, &o.Parts, 1, contents.MaxParts, "PARTS"); text != "" {
			return text
		}
		if bits.OnesCount64(o.Parts) != 1 {
			return "ERR PARTS must be a power of two from 1 to " + strconv.Itoa(contents.MaxParts)
		}
		return ""
	},
	"span": func(o *Options, arg []byte) string {
		d, err := figures.Duration(string(arg))
		if err != nil || d < minSpan || d > maxSpan {
			return "ERR SPAN must be a time from 1s to 3650d (" + figures.LikeDuration + ")"
		}
		o.Span = d
		return ""
	},
	"generations": func(o *Options, arg []byte) string { return Number(arg, &o.Generations, 1, maxGens, "GENERATIONS") },
	"burst":       func(o *Options, arg []byte) string { return share(arg, &o.Burst, 1, maxGens, "BURST") },
	"members":     func(o *Options, arg []byte) string { return Number(arg, &o.Members, 1, maxMembers, "MEMBERS") },
	"need":        func(o *Options, arg []byte) string { return Number(arg, &o.Need, 1, maxMembers, "NEED") },
	"sla": func(o *Options, arg []byte) string {
		return read(microseconds, arg, &o.SLA, 1, maxSLA, "SLA", "a time in microseconds", "500, 500us, 2ms")
	},
	"budget": func(o *Options, arg []byte) string { return Bytes(arg, &o.Budget, 1, maxBudget, "BUDGET") },
	"news":   func(o *Options, arg []byte) string { return Number(arg, &o.News, 1, contents.MaxNews, "NEWS") },
	"replicas": func(o *Options, arg []byte) string {
		if answer.Is(arg, "all") {
			o.Replicas = contents.AllReplicas
			return ""
		}
		return Number(arg, &o.Replicas, 1, contents.AllReplicas-1, "REPLICAS")
	},
}

// read reads a number of a range, as people write it. It returns the error text, which says
// what is wanted and may have examples, or "".
func read[T int64 | uint64](parse func(string) (T, error), arg []byte, to *uint64, low, high uint64, name, want, like string) string {
	v, err := parse(string(arg[:min(len(arg), mostNumber)]))
	if err != nil || uint64(v) < low || uint64(v) > high {
		if like != "" {
			like = " (" + like + ")"
		}
		limits := " from " + strconv.FormatUint(low, 10) + " to " + strconv.FormatUint(high, 10)
		if high >= 1<<62 {
			limits = " of at least " + strconv.FormatUint(low, 10)
		}
		return "ERR " + name + " must be " + want + limits + like
	}
	*to = uint64(v)
	return ""
}

// mostNumber is how much of an argument is read as a number. Package figures refuses that much.
const mostNumber = 128

// Number reads a whole number of a range. It returns the error text, or "".
func Number(arg []byte, to *uint64, low, high uint64, name string) string {
	like := ""
	if high >= 10_000_000 {
		like = figures.LikeCount
	}
	return read(figures.Count, arg, to, low, high, name, "a whole number", like)
}

// Bytes reads an amount of memory. It returns the error text, or "".
func Bytes(arg []byte, to *uint64, low, high uint64, name string) string {
	return read(figures.Size, arg, to, low, high, name, "a number of bytes", figures.LikeSize)
}

// Milliseconds reads a time, which is in milliseconds if it has no unit. It returns the error
// text, or "".
func Milliseconds(arg []byte, to *uint64, low, high uint64, name string) string {
	parse := func(s string) (int64, error) { return inUnits(s, time.Millisecond) }
	return read(parse, arg, to, low, high, name, "a time in milliseconds", "500, 500ms, 10s")
}

func microseconds(s string) (int64, error) { return inUnits(s, time.Microsecond) }

// inUnits reads a whole number of units of time, or a duration that is one.
func inUnits(s string, unit time.Duration) (int64, error) {
	if n, err := figures.Count(s); err == nil {
		return int64(n), nil
	}
	d, err := figures.Duration(s)
	if err == nil && d%unit != 0 {
		err = errors.New("not a whole number of units")
	}
	return int64(d / unit), err
}

// share reads a number of a range. It returns the error text, or "".
func share(arg []byte, to *float64, low, high float64, name string) string {
	v, err := figures.Share(string(arg[:min(len(arg), mostNumber)]))
	if err != nil || !(v >= low && v <= high) {
		return "ERR " + name + " must be a number from " + strconv.FormatFloat(low, 'f', -1, 64) + " to " + strconv.FormatFloat(high, 'f', -1, 64)
	}
	*to = v
	return ""
}

// Rate reads a false positive rate. It returns the error text, or "".
func Rate(arg []byte, to *float64, name string) string {
	v, err := figures.Rate(string(arg[:min(len(arg), mostNumber)]))
	if err != nil {
		return "ERR " + name + " must be a number of more than 0 and less than 1 (" + figures.LikeRate + ")"
	}
	*to = v
	return ""
}

// Defaults returns the options of a filter for which nothing is asked.
func Defaults() *Options {
	return &Options{
		Capacity: defaultCapacity, Rate: defaultError, Span: defaultSpan, Generations: defaultGens, Burst: defaultBurst,
		Members: defaultMembers, Given: map[string]bool{},
	}
}

// Read reads the value of an option. It returns the error text, or "".
func (o *Options) Read(word string, arg []byte) string { return words[word](o, arg) }

// Parse reads what stands behind the kind, in any order. It returns the error text, or "".
func Parse(kind string, args [][]byte) (*Options, string) {
	o := Defaults()
	o.Kind = kind
	for i := 0; i < len(args); i++ {
		word := answer.Lower(args[i])
		read := words[word]
		switch {
		case o.Given[word]:
			return nil, "ERR " + strings.ToUpper(word) + " is there twice"
		case word == "nx":
			o.NX = true
		case word == "random":
			o.Seed = rand.Uint64()
		case read == nil:
			return nil, answer.TextSyntax + ": '" + Clip(args[i]) + "' is not an option of FILTER.CREATE"
		case i+1 == len(args):
			return nil, "ERR " + strings.ToUpper(word) + " needs a value"
		default:
			i++
			if text := read(o, args[i]); text != "" {
				return nil, text
			}
		}
		o.Given[word] = true
	}
	return o, o.conflicts()
}

// conflicts returns why options do not go together, or "".
func (o *Options) conflicts() string {
	for _, pair := range [][2]string{{"seed", "random"}, {"keyed", "seed"}, {"keyed", "random"}, {"bits", "error"}} {
		if o.Given[pair[0]] && o.Given[pair[1]] {
			return "ERR " + strings.ToUpper(pair[0]) + " and " + strings.ToUpper(pair[1]) + " do not go together"
		}
	}
	if o.Given["like"] {
		for word := range o.Given {
			switch word {
			case "like", "nx", "sla", "budget", "replicas", "news":
			default:
				return "ERR LIKE takes everything from another filter: " + strings.ToUpper(word) + " does not go with it"
			}
		}
	}
	for word, kind := range map[string]string{"span": "window", "generations": "window", "burst": "window", "members": "quorum", "need": "quorum"} {
		if o.Given[word] && o.Kind != kind {
			return "ERR " + strings.ToUpper(word) + " is for kind " + kind + ", not for " + o.Kind
		}
	}
	switch {
	case o.Burst > float64(o.Generations) && o.Given["burst"]:
		return "ERR BURST must be at most GENERATIONS, which is " + strconv.FormatUint(o.Generations, 10)
	case o.Need > o.Members:
		return "ERR NEED must be at most MEMBERS, which is " + strconv.FormatUint(o.Members, 10)
	case o.Given["keyed"] && o.Kind == "quorum":
		return "ERR KEYED is not for kind quorum: its members derive further secrets from the key, and a server without the key could not replay its log"
	}
	o.Burst = min(o.Burst, float64(o.Generations))
	return ""
}

// Clip returns an argument for an error text.
func Clip(arg []byte) string { return string(arg[:min(len(arg), 64)]) }
