// Package cassandra reads the Filter.db of an SSTable of Apache Cassandra, to ask it
// which partition keys the table may hold. It does not write any: a filter that lacks a
// key would hide it from the database.
//
// A key is the partition key as the table stores it: text is its bytes, an int 4 bytes in
// big-endian order.
package cassandra

import (
	"encoding/binary"
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign"
	"github.com/bloomery/bloomery/internal/murmur"
)

// Format is the name of the format.
const Format = "cassandra"

// Version is the layout of a file. The file does not say which it is. The name of an
// SSTable does in most cases: na-1-big-Filter.db is of version na. Some tables that an
// upgrade has left behind have the old layout under a new name. A wrong version makes
// most keys absent: try a key that the table is known to hold.
type Version int

// The layouts, by the first release that writes them.
const (
	// V40 is the layout from 4.0 on: versions na, nb, oa, da.
	V40 Version = iota
	// V22 is the layout of 2.2 to 3.11: versions la, lb, ma to me.
	V22
	// V21 is the layout of 2.1 and before: versions ka, jb and older.
	V21
)

// String returns the releases that write the layout.
func (v Version) String() string {
	switch v {
	case V40:
		return "4.0 and later"
	case V22:
		return "2.2 to 3.11"
	case V21:
		return "2.1 and before"
	}
	return fmt.Sprintf("version %d", int(v))
}

// headerSize is the number of bits for a key, and the number of words.
const headerSize = 8

// Open returns the filter in a file. Errors wrap bloomery.ErrCorrupt,
// bloomery.ErrParameter (a version that there is not) or bloomery.ErrTooLarge.
func Open(data []byte, v Version) (*foreign.Bloom, error) {
	if v < V40 || v > V21 {
		return nil, fmt.Errorf("cassandra: open: %w: %v", bloomery.ErrParameter, v)
	}
	if len(data) < headerSize {
		return nil, fmt.Errorf("cassandra: open: %w: %d bytes, and a header has %d", bloomery.ErrCorrupt, len(data), headerSize)
	}
	probes, words := binary.BigEndian.Uint32(data), uint64(binary.BigEndian.Uint32(data[4:]))
	switch {
	case probes == 0 || probes > foreign.MaxProbes || words == 0:
		return nil, fmt.Errorf("cassandra: open: %w: %d words and %d bits for a key", bloomery.ErrCorrupt, words, probes)
	case uint64(len(data)-headerSize) != 8*words:
		return nil, fmt.Errorf("cassandra: open: %w: %d bytes, want %d for %d words", bloomery.ErrCorrupt, len(data), headerSize+8*words, words)
	}
	l := foreign.Layout{Format: Format, Variant: v.String(), Bits: 64 * words, Probes: int(probes), Rule: rule}
	if v == V21 {
		l.Rule = swapped
	}
	if v == V40 {
		return l.Little(data[headerSize:])
	}
	return l.Big(data[headerSize:])
}

// rule begins at the second half of the hash and steps by the first.
func rule(key []byte, bits uint64, probes int, visit func(uint64) bool) bool {
	step, at := murmur.Sum128Signed(key)
	return walk(at, step, bits, probes, visit)
}

// swapped begins at the first half of the hash and steps by the second.
func swapped(key []byte, bits uint64, probes int, visit func(uint64) bool) bool {
	at, step := murmur.Sum128Signed(key)
	return walk(at, step, bits, probes, visit)
}

// walk steps through the array; remainders have the sign of Java's.
func walk(at, step, bits uint64, probes int, visit func(uint64) bool) bool {
	for range probes {
		bit := int64(at) % int64(bits)
		if !visit(uint64(max(bit, -bit))) {
			return false
		}
		at += step
	}
	return true
}
