// Command blocklist blocks addresses and whole networks: a filter for each length of prefix,
// asked from the longest to the shortest, behind an exact list of addresses that are never
// blocked.
//
//	go run ./examples/blocklist
package main

import (
	"context"
	"maps"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/examples/internal/demo"
)

func main() { demo.Main(run) }

const (
	rate  = 0.0001 // of other addresses that may be blocked, by all filters together
	batch = 10_000 // lookups that are timed together
)

// lengths of the prefixes that are listed, for IPv4 and IPv6, longest first.
var lengths = [2][]int{{32, 24, 22, 20, 18, 16}, {128, 64, 56, 48, 32}}

// family is an index of lengths.
func family(a netip.Addr) int {
	if a.Is4() {
		return 0
	}
	return 1
}

// blocklist is what is asked for each address.
type blocklist struct {
	filters [2][]*bloom.Filter // by family, in the order of lengths
	allowed map[netip.Addr]struct{}
	bytes   int // of all filters
}

// newBlocklist makes the filters. An address is asked for in all of its family, and each
// could be wrong: they share the rate.
func newBlocklist(prefixes []netip.Prefix, allowed map[netip.Addr]struct{}) (*blocklist, error) {
	b := &blocklist{allowed: allowed}
	for fam := range lengths {
		for _, n := range lengths[fam] {
			keys := map[[16]byte]struct{}{}
			for _, p := range prefixes {
				if family(p.Addr()) == fam && p.Bits() == n {
					keys[p.Addr().As16()] = struct{}{}
				}
			}
			f, err := bloom.Config{Capacity: max(1, len(keys)), ErrorRate: rate / float64(len(lengths[fam]))}.New()
			if err != nil {
				return nil, err
			}
			for key := range keys {
				f.Add(key[:])
			}
			b.filters[fam] = append(b.filters[fam], f)
			b.bytes += int(f.Stats().Bytes)
		}
	}
	return b, nil
}

// blocked returns the longest listed prefix that an address is in, or false. An address of IPv4
// may come in the form of IPv6, or one of IPv6 with a zone.
func (b *blocklist) blocked(a netip.Addr) (netip.Prefix, bool) {
	a = a.Unmap().WithZone("")
	if _, never := b.allowed[a]; never {
		return netip.Prefix{}, false
	}
	fam := family(a)
	for i, n := range lengths[fam] {
		p, err := a.Prefix(n)
		if err != nil {
			continue
		}
		if key := p.Addr().As16(); b.filters[fam][i].Contains(key[:]) {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// figures is what became of the lookups.
type figures struct {
	prefixes, allowed, lookups int
	blocked, missed            int           // addresses in listed prefixes, and those that passed: none
	otherPrefix                int           // blocked rightly, for a prefix that is longer than the listed one
	spared, allowedBlocked     int           // addresses of the allow list in listed prefixes, and those blocked: none
	others, wrong              int           // addresses that are not listed, and those blocked
	filters, exactSet          int           // bytes
	best                       time.Duration // of the fastest batch
}

func run(ctx context.Context, o demo.Options) (figures, error) {
	entries, lookups := demo.Pick(o, 20_000, 2_000_000), demo.Pick(o, 300_000, 10_000_000)
	rng := rand.New(rand.NewPCG(1, 2))
	listed := map[netip.Prefix]struct{}{}
	var order []netip.Prefix
	for range entries {
		order = append(order, prefix(rng))
		listed[order[len(order)-1]] = struct{}{}
	}
	allowed := map[netip.Addr]struct{}{}
	var customers []netip.Addr
	for range entries / 100 {
		customers = append(customers, within(order[rng.IntN(len(order))], rng))
		allowed[customers[len(customers)-1]] = struct{}{}
	}
	b, err := newBlocklist(order, allowed)
	if err != nil {
		return figures{}, err
	}
	f := figures{prefixes: len(listed), allowed: len(allowed), lookups: lookups, filters: b.bytes, best: time.Hour}
	addresses := make([]netip.Addr, batch)
	for asked := 0; asked < lookups; asked += len(addresses) {
		if err := ctx.Err(); err != nil {
			return figures{}, err
		}
		for i := range addresses {
			switch rng.IntN(10) {
			case 0:
				addresses[i] = customers[rng.IntN(len(customers))]
			case 1, 2:
				addresses[i] = within(order[rng.IntN(len(order))], rng)
			default:
				addresses[i] = within(prefix(rng), rng)
			}
		}
		start := time.Now()
		for _, a := range addresses {
			b.blocked(a)
		}
		f.best = min(f.best, time.Since(start))
		for _, a := range addresses {
			f.count(b, listed, a)
		}
	}
	f.exactSet = demo.Heap(func() any { return maps.Clone(listed) })
	return f, nil
}

// prefix returns a random prefix: two of three are of IPv4, and half are single addresses.
func prefix(rng *rand.Rand) netip.Prefix {
	fam := rng.IntN(3) / 2
	n := lengths[fam][0]
	if rng.IntN(2) == 0 {
		n = lengths[fam][rng.IntN(len(lengths[fam]))]
	}
	base := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	if fam == 1 {
		base = netip.MustParsePrefix("2000::/3") // where all public addresses are
	}
	p, _ := within(base, rng).Prefix(n) // n is never too long
	return p
}

// within returns a random address of a prefix.
func within(p netip.Prefix, rng *rand.Rand) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < p.Addr().BitLen(); i++ {
		b[i/8] |= byte(rng.IntN(2)) << (7 - i%8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// count compares an answer with that of the exact sets.
func (f *figures) count(b *blocklist, listed map[netip.Prefix]struct{}, a netip.Addr) {
	got, blocked := b.blocked(a)
	var want netip.Prefix
	for _, n := range lengths[family(a)] {
		p, _ := a.Prefix(n)
		if _, ok := listed[p]; ok {
			want = p
			break
		}
	}
	_, never := b.allowed[a]
	switch {
	case never:
		f.spared++
		if blocked {
			f.allowedBlocked++
		}
	case want.IsValid():
		f.blocked++
		if !blocked {
			f.missed++
		} else if got != want {
			f.otherPrefix++
		}
	default:
		f.others++
		if blocked {
			f.wrong++
		}
	}
}

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Count("listed prefixes", f.prefixes)
	t.Count("allowed addresses in them", f.allowed)
	t.Count("lookups", f.lookups)
	t.Count("blocked", f.blocked-f.missed)
	t.Count("listed and not blocked", f.missed)
	t.Count("allowed and blocked", f.allowedBlocked)
	t.Count("wrong blocks", f.wrong)
	t.Percent("rate asked", rate)
	t.Percent("measured", float64(f.wrong)/float64(f.others))
	t.Count("blocked for a longer prefix than the listed one", f.otherPrefix)
	t.Bytes("filters", f.filters)
	t.Varying("exact set", demo.Bytes(f.exactSet))
	t.Varying("lookups a second, one core, best batch", demo.Count(int(batch/f.best.Seconds())))
	return t
}
