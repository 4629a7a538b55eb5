// Command spv is a light wallet of Bitcoin on a chain that is made up: by BIP 37 it sends a
// filter of its addresses to a node, by BIP 158 it fetches a filter of each block. It compares
// what the wallet downloads, and what the node learns.
//
//	go run ./examples/spv
package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/bloomery/bloomery/examples/internal/demo"
	"github.com/bloomery/bloomery/foreign"
	"github.com/bloomery/bloomery/foreign/bip158"
	"github.com/bloomery/bloomery/foreign/bip37"
)

func main() { demo.Main(run) }

const (
	own         = 50    // addresses of the wallet
	dummies     = 500   // addresses of others that it adds as noise
	rate        = 0.001 // of the filter that it sends
	header      = 80    // bytes of a block without its transactions
	transaction = 250   // bytes, as most have
	outputs     = 2     // addresses that a transaction pays
)

// chain is made of addresses by number: those that each transaction pays, block by block.
type chain struct {
	blocks    [][]uint32
	addresses int // that exist; the first ones are the wallet's, then those that it takes as noise
}

func newChain(blocks, transactions, addresses int) chain {
	rng := rand.New(rand.NewPCG(1, 2))
	c := chain{addresses: addresses}
	for range blocks {
		pays := make([]uint32, outputs*transactions)
		for i := range pays {
			pays[i] = uint32(rng.IntN(addresses))
		}
		c.blocks = append(c.blocks, pays)
	}
	return c
}

// address returns the 20 bytes of an address.
func address(number uint32) []byte {
	sum := sha256.Sum256(binary.BigEndian.AppendUint32(nil, number))
	return sum[:20]
}

// mine counts the payments to the wallet.
func mine(pays []uint32) (n int) {
	for _, a := range pays {
		if a < own {
			n++
		}
	}
	return n
}

// figures is what was downloaded, and which addresses the node cannot tell from the wallet's.
type figures struct {
	blocks, payments   int // in all, and to the wallet
	missed             int // payments that the wallet did not get: none
	all                int // bytes of the chain
	sent, got          int // bytes of BIP 37: the filter, and what came
	noisy              int // the same with noise, both ways
	filters, fetched   int // bytes of BIP 158: filters of blocks, and blocks
	fetches, vain      int // blocks, and those in which nothing was the wallet's
	one, two, twoNoisy int // addresses that match after one filter, after two, and after two with noise
	inBlocks           int // addresses in the blocks that were fetched
}

func run(ctx context.Context, o demo.Options) (figures, error) {
	c := newChain(demo.Pick(o, 200, 2016), demo.Pick(o, 400, 2500), demo.Pick(o, 100_000, 5_000_000)) // or two weeks
	f := figures{blocks: len(c.blocks)}
	for _, pays := range c.blocks {
		f.all += header + len(pays)/outputs*transaction
		f.payments += mine(pays)
	}
	if err := f.bip37(c); err != nil {
		return figures{}, err
	}
	err := f.bip158(ctx, c)
	return f, err
}

// bip37 has the node send what matches a filter. After a restart the wallet sends another one,
// with another tweak, and the node keeps what matches both.
func (f *figures) bip37(c chain) error {
	var matching [4]map[uint32]bool // of two filters, and of two with noise
	for i := range matching {
		addresses := own
		if i >= 2 {
			addresses += dummies
		}
		filter, err := bip37.New(bip37.Config{Capacity: uint64(addresses), ErrorRate: rate, Tweak: uint32(i)})
		if err != nil {
			return err
		}
		for a := range addresses {
			filter.Add(address(uint32(a)))
		}
		matching[i] = matches(filter, c.addresses)
		message, err := filter.MarshalBinary()
		if err != nil {
			return err
		}
		got, found := download(c, matching[i])
		switch i {
		case 0:
			f.sent, f.got, f.missed = len(message), got, f.payments-found
		case 2:
			f.noisy = len(message) + got
		}
	}
	f.one = len(matching[0])
	f.two = both(matching[0], matching[1])
	f.twoNoisy = both(matching[2], matching[3])
	return nil
}

// matches returns the addresses that a node takes for the wallet's: it tries all.
func matches(filter *foreign.Bloom, addresses int) map[uint32]bool {
	found := map[uint32]bool{}
	for a := range uint32(addresses) {
		if filter.Contains(address(a)) {
			found[a] = true
		}
	}
	return found
}

func both(a, b map[uint32]bool) (n int) {
	for address := range a {
		if b[address] {
			n++
		}
	}
	return n
}

// download returns the bytes that a node sends for the addresses that match, with the branch
// that proves each transaction, and how many payments to the wallet are among them.
func download(c chain, matching map[uint32]bool) (bytes, payments int) {
	for _, pays := range c.blocks {
		bytes += header
		branch := 32 * bits.Len(uint(len(pays)/outputs-1))
		for i := 0; i < len(pays); i += outputs {
			if paid := pays[i : i+outputs]; slices.ContainsFunc(paid, func(a uint32) bool { return matching[a] }) {
				bytes += transaction + branch
				payments += mine(paid)
			}
		}
	}
	return bytes, payments
}

// bip158 has the wallet fetch the filters of all blocks, and the blocks that match.
func (f *figures) bip158(ctx context.Context, c chain) error {
	seen := map[uint32]bool{}
	var wallet [][]byte
	for a := range uint32(own) {
		wallet = append(wallet, address(a))
	}
	for number, pays := range c.blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		var key [bip158.KeySize]byte // of the block's hash
		binary.BigEndian.PutUint64(key[:], uint64(number))
		items := make([][]byte, len(pays))
		for i, a := range pays {
			items[i] = address(a)
		}
		filter, err := bip158.Build(items, key)
		if err != nil {
			return err
		}
		message, err := filter.MarshalBinary()
		if err != nil {
			return err
		}
		f.filters += header + len(message)
		found := make([]bool, len(wallet))
		filter.ContainsKeys(found, wallet)
		if !slices.Contains(found, true) {
			f.missed += mine(pays)
			continue
		}
		f.fetches++
		if mine(pays) == 0 {
			f.vain++
		}
		f.fetched += len(pays) / outputs * transaction
		for _, a := range pays {
			seen[a] = true
		}
	}
	f.inBlocks = len(seen)
	return nil
}

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Count("blocks", f.blocks)
	t.Bytes("all of the chain", f.all)
	t.Count("payments to the wallet", f.payments)
	t.Count("not found", f.missed)
	t.Bytes("BIP 37: filter sent", f.sent)
	t.Bytes("downloaded", f.got)
	t.Bytes("with noise, filter and download", f.noisy)
	t.Bytes("BIP 158: filters downloaded", f.filters)
	t.Bytes("blocks downloaded", f.fetched)
	t.Count("their number", f.fetches)
	t.Count("of these in vain", f.vain)
	t.Count("addresses of the wallet", own)
	t.Count("it hides among, BIP 37, one filter seen", f.one)
	t.Count("two filters seen", f.two)
	t.Count("two filters with the same noise", f.twoNoisy)
	t.Count("BIP 158: addresses in the blocks that it fetched", f.inBlocks)
	return t
}
