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
	"errors"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/bloomery/bloomery/examples/internal/demo"
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

// seen is what a node sees of a wallet by BIP 37.
type seen struct {
	bytes, got int             // bytes of the filter, and of what the node sends for it
	payments   int             // to the wallet, among that
	matching   map[uint32]bool // addresses that match the filter: the node tries all
}

// bip37 sends a filter of the first addresses to a node, which sends the transactions that match, each
// with the branch that proves it.
func (c chain) bip37(addresses int, tweak uint32) (s seen, err error) {
	filter, err := bip37.New(bip37.Config{Capacity: uint64(addresses), ErrorRate: rate, Tweak: tweak})
	if err != nil {
		return seen{}, err
	}
	for a := range addresses {
		filter.Add(address(uint32(a)))
	}
	message, err := filter.MarshalBinary()
	s = seen{bytes: len(message), matching: map[uint32]bool{}}
	for a := range uint32(c.addresses) {
		if filter.Contains(address(a)) {
			s.matching[a] = true
		}
	}
	for _, pays := range c.blocks {
		s.got += header
		branch := 32 * bits.Len(uint(len(pays)/outputs-1))
		for paid := range slices.Chunk(pays, outputs) {
			if slices.ContainsFunc(paid, func(a uint32) bool { return s.matching[a] }) {
				s.got += transaction + branch
				s.payments += mine(paid)
			}
		}
	}
	return s, err
}

// both counts the addresses that match two filters of a wallet.
func both(a, b seen) (n int) {
	for address := range a.matching {
		if b.matching[address] {
			n++
		}
	}
	return n
}

// bip158 has the wallet fetch a filter of each block, and the block if one of its addresses matches.
func (f *figures) bip158(c chain, number int) error {
	pays := c.blocks[number]
	var key [bip158.KeySize]byte // of the block's hash
	binary.BigEndian.PutUint64(key[:], uint64(number))
	var items, wallet [][]byte
	for _, a := range pays {
		items = append(items, address(a))
	}
	for a := range uint32(own) {
		wallet = append(wallet, address(a))
	}
	filter, err := bip158.Build(items, key)
	if err != nil {
		return err
	}
	message, err := filter.MarshalBinary()
	f.filters += header + len(message)
	found := make([]bool, own)
	filter.ContainsKeys(found, wallet) // in one pass
	if !slices.Contains(found, true) {
		f.missed += mine(pays)
		return err
	}
	f.fetched += len(pays) / outputs * transaction
	f.fetches.Count(mine(pays) == 0)
	for _, a := range pays {
		f.inBlocks[a] = true
	}
	return err
}

// figures is what was downloaded, and which addresses the node cannot tell from the wallet's.
type figures struct {
	blocks, payments int             // in all, and to the wallet
	missed           int             // payments that the wallet did not get: none
	all              int             // bytes of the chain
	sent             [4]seen         // by BIP 37: two filters, and two with noise
	filters, fetched int             // bytes of BIP 158: filters of blocks, and blocks
	fetches          demo.Share      // blocks, and those in which nothing was the wallet's
	inBlocks         map[uint32]bool // addresses in the blocks that were fetched
}

// run has the wallet send its filter of BIP 37 twice: after a restart, with another tweak. The node keeps
// what matches both.
func run(ctx context.Context, o demo.Options) (f figures, err error) {
	c := newChain(demo.Pick(o, 200, 2016), demo.Pick(o, 400, 2500), demo.Pick(o, 100_000, 5_000_000)) // or two weeks
	f = figures{blocks: len(c.blocks), inBlocks: map[uint32]bool{}}
	for i, addresses := range []int{own, own, own + dummies, own + dummies} {
		if f.sent[i], err = c.bip37(addresses, uint32(i)); err != nil {
			return f, err
		}
	}
	for number, pays := range c.blocks {
		f.all += header + len(pays)/outputs*transaction
		f.payments += mine(pays)
		if err := errors.Join(f.bip158(c, number), ctx.Err()); err != nil {
			return f, err
		}
	}
	f.missed += f.payments - f.sent[0].payments
	return f, nil
}

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

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Count("blocks", f.blocks)
	t.Bytes("all of the chain", f.all)
	t.Count("payments to the wallet", f.payments)
	t.Count("not found", f.missed)
	t.Bytes("BIP 37: filter sent", f.sent[0].bytes)
	t.Bytes("downloaded", f.sent[0].got)
	t.Bytes("with noise, filter and download", f.sent[2].bytes+f.sent[2].got)
	t.Bytes("BIP 158: filters downloaded", f.filters)
	t.Bytes("blocks downloaded", f.fetched)
	t.Count("their number", f.fetches.All)
	t.Count("of these in vain", f.fetches.Yes)
	t.Count("addresses of the wallet", own)
	t.Count("it hides among, BIP 37, one filter seen", len(f.sent[0].matching))
	t.Count("two filters seen", both(f.sent[0], f.sent[1]))
	t.Count("two filters with the same noise", both(f.sent[2], f.sent[3]))
	t.Count("BIP 158: addresses in the blocks that it fetched", len(f.inBlocks))
	return t
}
