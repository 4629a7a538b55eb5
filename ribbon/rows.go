package ribbon

import (
	"math/bits"

	"github.com/bloomery/bloomery"
)

// The multipliers that make a key's row from its hash; part of the file
// format. Each row is made from x = h xor h>>32: keys that are neighbours in a
// layer share the upper bits of h, and the shift spreads the lower ones.
const (
	coefMul  = 0x9fb21c651e98df25 // the first 64 coefficients
	widenMul = 0xa0761d6478bd642f // the second 64, from the first
	printMul = 0xd6e8feb86659fd93 // the fingerprint
)

// row is the equation of a key in a layer: the slots with a coefficient of 1,
// counted from the start of the row, must xor to the fingerprint.
type row struct {
	lo, hi uint64 // the coefficients; the lowest one is 1; hi is 0 in rows of 64
	print  uint32 // the fingerprint; a layer takes as many bits as it has columns
}

// row64 returns the row of 64 coefficients for hash h.
func row64(h uint64) row {
	x := h ^ h>>32
	return row{lo: x*coefMul | 1, print: printOf(h)}
}

// row128 returns the row of 128 coefficients for hash h.
func row128(h uint64) row {
	x := h ^ h>>32
	a := x * coefMul
	return row{lo: a | 1, hi: (a ^ a>>32) * widenMul, print: printOf(h)}
}

// printOf returns the fingerprint of hash h.
func printOf(h uint64) uint32 { return uint32((h ^ h>>32) * printMul >> 32) }

// startOf returns the slot at which the row of h begins, one of so many. It
// grows with h, so that sorted hashes are sorted by start.
func startOf(h, starts uint64) uint64 {
	start, _ := bits.Mul64(h, starts)
	return start
}

// bump returns the hash under which the next layer knows a key that this one
// has no room for. It is a bijection: keys stay different.
func bump(h uint64) uint64 { return bloomery.Salted(h, bumpSalt) }

// bumpSalt is part of the file format; any number would do that nobody else
// salts hashes with.
const bumpSalt = 0x726962626f6e
