package cassandra_test

import (
	"encoding/binary"
	"errors"
	"strconv"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign"
	"github.com/bloomery/bloomery/foreign/cassandra"
	"github.com/bloomery/bloomery/foreign/internal/formattest"
)

// format writes what the package only reads, to compare it.
func format(v cassandra.Version) formattest.Format {
	open := func(data []byte) (*foreign.Bloom, error) { return cassandra.Open(data, v) }
	f := formattest.Bloom(func(n uint64, _ float64) (*foreign.Bloom, error) { return empty(10*n+20, 5, v) }, open)
	f.Marshal = func(f bloomery.Filter) ([]byte, error) { return marshal(f.(*foreign.Bloom), v), nil }
	f.Rates = []float64{0.01} // Cassandra's table: 10 bits and 5 of them set
	return f
}

// empty is a filter of at least so many bits.
func empty(bits uint64, probes uint32, v cassandra.Version) (*foreign.Bloom, error) {
	words := (bits + 63) / 64
	data := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, probes), uint32(words))
	return cassandra.Open(append(data, make([]byte, 8*words)...), v)
}

func marshal(b *foreign.Bloom, v cassandra.Version) []byte {
	data := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(b.Layout().Probes)), uint32(b.Words()))
	if v == cassandra.V40 {
		return b.AppendLittle(data, 8*b.Words())
	}
	return b.AppendBig(data)
}

func TestFormat(t *testing.T) {
	for _, v := range []cassandra.Version{cassandra.V40, cassandra.V22, cassandra.V21} {
		t.Run(v.String(), func(t *testing.T) { formattest.Run(t, format(v)) })
	}
}

func FuzzOpen(f *testing.F) { formattest.Fuzz(f, format(cassandra.V40)) }

// TestBytes compares filters with those of Cassandra's own test data.
func TestBytes(t *testing.T) {
	var numbers, texts []string
	for i := range uint32(10) {
		numbers = append(numbers, string(binary.BigEndian.AppendUint32(nil, i+1)))
	}
	for i := range 5 {
		texts = append(texts, strconv.Itoa(i))
	}
	for _, c := range []struct {
		name string
		v    cassandra.Version
		keys []string
		want string
	}{
		{"la", cassandra.V22, numbers, "000000050000000284e228e0800e2836eb22d24ac8822a00"},
		{"ka", cassandra.V21, numbers, "000000050000000223664c448214b822e543142008053950"},
		{"me", cassandra.V22, texts, "0000000500000002000401000621428408c000042002a600"},
		{"da", cassandra.V40, texts, "0000000500000002844221060001040000a602200400c008"},
	} {
		b, err := empty(128, 5, c.v)
		if err != nil {
			t.Fatal(err)
		}
		there, err := cassandra.Open(formattest.Unhex(t, c.want), c.v)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range c.keys {
			b.Add([]byte(key))
			if !there.Contains([]byte(key)) {
				t.Errorf("%s: %q is not there", c.name, key)
			}
		}
		if got := marshal(b, c.v); string(got) != string(formattest.Unhex(t, c.want)) {
			t.Errorf("%s: %x, want %s", c.name, got, c.want)
		}
	}
}

func TestRefuses(t *testing.T) {
	for data, want := range map[string]error{
		"":                                 bloomery.ErrCorrupt,
		"\x00\x00\x00\x05\x00\x00\x00\x00": bloomery.ErrCorrupt,
		"\x00\x00\x00\x05\xff\xff\xff\xff12345678": bloomery.ErrCorrupt,
		"\x00\x00\x00\x00\x00\x00\x00\x0112345678": bloomery.ErrCorrupt,
		"\x7f\x00\x00\x00\x00\x00\x00\x0112345678": bloomery.ErrCorrupt,
		"\x00\x00\x00\x05\x00\x00\x00\x0112345678": nil,
	} {
		if _, err := cassandra.Open([]byte(data), cassandra.V40); !errors.Is(err, want) {
			t.Errorf("%x: %v, want %v", data, err, want)
		}
	}
	for _, v := range []cassandra.Version{-1, 3} {
		if _, err := cassandra.Open(nil, v); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%v, which there is not: %v", v, err)
		}
	}
	b, err := empty(64, 5, cassandra.V40)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.MarshalBinary(); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("written: %v", err)
	}
}
