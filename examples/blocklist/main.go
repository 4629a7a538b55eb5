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
	"slices"
	"time"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/examples/internal/demo"
)

func main() { demo.Main(run) }

const (
	rate  = 0.0001 // of other addresses that may be blocked, by all filters together
	batch = 10_000 // lookups that are timed together
)

// blocklist is what is asked for each address.
type blocklist struct {
	lengths [129][]length // by the bits of an address, 32 or 128; longest first
	allowed map[netip.Addr]bool
}

// length is the listed prefixes of one length.
type length struct {
	bits   int
	filter *bloom.Filter
}

// newBlocklist makes the filters. An address is asked for in all of its family, and each
// could be wrong: they share the rate.
func newBlocklist(listed map[netip.Prefix]bool, allowed map[netip.Addr]bool) (*blocklist, error) {
	b := &blocklist{allowed: allowed}
	for _, size := range []int{32, 128} { // IPv4, IPv6
		keys := map[int][][16]byte{} // by length
		for p := range listed {
			if p.Addr().BitLen() == size {
				keys[p.Bits()] = append(keys[p.Bits()], p.Masked().Addr().As16())
			}
		}
		for _, bits := range slices.Backward(slices.Sorted(maps.Keys(keys))) {
			f, err := bloom.Config{Capacity: len(keys[bits]), ErrorRate: rate / float64(len(keys))}.New()
			if err != nil {
				return nil, err
			}
			for _, key := range keys[bits] {
				f.Add(key[:])
			}
			b.lengths[size] = append(b.lengths[size], length{bits, f})
		}
	}
	return b, nil
}

// blocked returns the longest listed prefix that an address is in, or false. An address of IPv4
// may come in the form of IPv6, or one of IPv6 with a zone.
func (b *blocklist) blocked(a netip.Addr) (netip.Prefix, bool) {
	a = a.Unmap().WithZone("")
	if b.allowed[a] {
		return netip.Prefix{}, false
	}
	for _, l := range b.lengths[a.BitLen()] {
		p, _ := a.Prefix(l.bits) // which is never too long
		if key := p.Addr().As16(); l.filter.Contains(key[:]) {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// figures is what became of the lookups.
type figures struct {
	prefixes, allowed, lookups int
	listed                     demo.Share    // addresses in listed prefixes, and those that passed: none
	spared                     demo.Share    // addresses of the allow list, and those blocked: none
	others                     demo.Share    // addresses that are not listed, and those blocked
	otherPrefix                int           // blocked rightly, for a prefix that is longer than the listed one
	filters, exactSet          int           // bytes
	best                       time.Duration // of the fastest batch
}

func run(ctx context.Context, o demo.Options) (figures, error) {
	rng := rand.New(rand.NewPCG(1, 2))
	networks := make([]netip.Prefix, demo.Pick(o, 20_000, 2_000_000))
	for i := range networks {
		networks[i] = prefix(rng)
	}
	customers := make([]netip.Addr, len(networks)/100)
	for i := range customers {
		customers[i] = within(networks[rng.IntN(len(networks))], rng)
	}
	listed := demo.Exact(networks)
	b, err := newBlocklist(listed, demo.Exact(customers))
	if err != nil {
		return figures{}, err
	}
	f := figures{prefixes: len(listed), allowed: len(b.allowed), lookups: demo.Pick(o, 300_000, 10_000_000), best: time.Hour}
	for _, l := range slices.Concat(b.lengths[32], b.lengths[128]) {
		f.filters += int(l.filter.Stats().Bytes)
	}
	addresses := make([]netip.Addr, batch)
	for asked := 0; asked < f.lookups; asked += batch {
		if err := ctx.Err(); err != nil {
			return figures{}, err
		}
		for i := range addresses {
			switch rng.IntN(10) {
			case 0:
				addresses[i] = customers[rng.IntN(len(customers))]
			case 1, 2:
				addresses[i] = within(networks[rng.IntN(len(networks))], rng)
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
	f.exactSet = demo.Set(networks)
	return f, nil
}

// count compares an answer with that of the exact sets.
func (f *figures) count(b *blocklist, listed map[netip.Prefix]bool, a netip.Addr) {
	got, blocked := b.blocked(a)
	if b.allowed[a] {
		f.spared.Count(blocked)
		return
	}
	for _, l := range b.lengths[a.BitLen()] {
		if want, _ := a.Prefix(l.bits); listed[want] {
			f.listed.Count(!blocked)
			if blocked && got != want {
				f.otherPrefix++
			}
			return
		}
	}
	f.others.Count(blocked)
}

// prefix returns a random prefix: two of three are of IPv4, and half are single addresses.
func prefix(rng *rand.Rand) netip.Prefix {
	base, bits := netip.MustParsePrefix("0.0.0.0/0"), []int{32, 24, 22, 20, 18, 16}
	if rng.IntN(3) == 2 {
		base, bits = netip.MustParsePrefix("2000::/3"), []int{128, 64, 56, 48, 32} // where all public addresses are
	}
	if rng.IntN(2) == 0 {
		bits = bits[rng.IntN(len(bits)):]
	}
	p, _ := within(base, rng).Prefix(bits[0]) // which is never too long
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

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Count("listed prefixes", f.prefixes)
	t.Count("allowed addresses in them", f.allowed)
	t.Count("lookups", f.lookups)
	t.Count("blocked", f.listed.All-f.listed.Yes)
	t.Count("listed and not blocked", f.listed.Yes)
	t.Count("allowed and blocked", f.spared.Yes)
	t.Count("wrong blocks", f.others.Yes)
	t.Percent("rate asked", rate)
	t.Percent("measured", f.others.Rate())
	t.Count("blocked for a longer prefix than the listed one", f.otherPrefix)
	t.Bytes("filters", f.filters)
	t.Varying("exact set", demo.Bytes(f.exactSet))
	t.Varying("lookups a second, one core, best batch", demo.Count(int(batch/f.best.Seconds())))
	return t
}
