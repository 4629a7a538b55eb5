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
	if f.listed.Yes != 0 || f.spared.Yes != 0 || f.listed.All == 0 || f.spared.All == 0 {
		t.Errorf("%v listed addresses passed, %v allowed ones were blocked", f.listed, f.spared)
	}
	expected := rate * float64(f.others.All)
	if float64(f.others.Yes) > expected+5*math.Sqrt(expected) {
		t.Errorf("%v other addresses were blocked, want about %.0f", f.others, expected)
	}
	if expected = rate * float64(f.listed.All); float64(f.otherPrefix) > expected+5*math.Sqrt(expected) {
		t.Errorf("%d addresses were blocked for a prefix that is not listed, want about %.0f", f.otherPrefix, expected)
	}
	if 4*f.filters > f.exactSet {
		t.Errorf("the filters take %d bytes, a set %d: want a quarter at most", f.filters, f.exactSet)
	}
	f.Table().Documented(t)
}

// Other forms of an address are the same address, and of two prefixes the longer one is named.
func TestForms(t *testing.T) {
	b, err := newBlocklist(map[netip.Prefix]bool{
		netip.MustParsePrefix("192.0.0.0/16"): true, netip.MustParsePrefix("192.0.2.7/24"): true, netip.MustParsePrefix("2001:db8::/32"): true,
	}, map[netip.Addr]bool{netip.MustParseAddr("192.0.2.9"): true})
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
