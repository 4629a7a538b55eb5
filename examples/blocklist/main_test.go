package main

import (
	"math"
	"net/netip"
	"testing"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// What is listed is blocked, what is allowed never is, and of other addresses no more than the
// rate of all filters together.
func TestBlocklist(t *testing.T) {
	f, err := run(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f.missed != 0 || f.allowedBlocked != 0 || f.blocked == 0 || f.spared == 0 {
		t.Errorf("%d of %d listed addresses passed, %d of %d allowed ones were blocked", f.missed, f.blocked, f.allowedBlocked, f.spared)
	}
	expected := rate * float64(f.others)
	if float64(f.wrong) > expected+5*math.Sqrt(expected) {
		t.Errorf("%d of %d other addresses were blocked, want about %.0f", f.wrong, f.others, expected)
	}
	if expected = rate * float64(f.blocked); float64(f.otherPrefix) > expected+5*math.Sqrt(expected) {
		t.Errorf("%d addresses were blocked for a prefix that is not listed, want about %.0f", f.otherPrefix, expected)
	}
	if 4*f.filters > f.exactSet {
		t.Errorf("the filters take %d bytes, a set %d: want a quarter at most", f.filters, f.exactSet)
	}
	f.Table().Documented(t)
}

// Other forms of an address are the same address, and of two prefixes the longer one is named.
func TestForms(t *testing.T) {
	b, err := newBlocklist([]netip.Prefix{
		netip.MustParsePrefix("192.0.0.0/16"), netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32"),
	}, map[netip.Addr]struct{}{netip.MustParseAddr("192.0.2.9"): {}})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.0/24", "::ffff:192.0.2.1": "192.0.2.0/24", "192.0.3.1": "192.0.0.0/16", "2001:db8::1%eth0": "2001:db8::/32",
		"192.0.2.9": "", "::ffff:192.0.2.9": "", "198.51.100.1": "", "fe80::1%eth0": "",
	} {
		p, blocked := b.blocked(netip.MustParseAddr(address))
		if blocked != (want != "") || blocked && p.String() != want {
			t.Errorf("%s is blocked by %v, %t, want %q", address, p, blocked, want)
		}
	}
	if _, blocked := b.blocked(netip.Addr{}); blocked {
		t.Error("no address is blocked")
	}
}
