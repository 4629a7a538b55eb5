// Command usernames asks a database whether a name is taken only if a filter cannot say that
// it is free, and refuses passwords that have leaked, without keeping a list of them.
//
//	go run ./examples/usernames
//	go run ./examples/usernames -data full
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/examples/internal/demo"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/ribbon"
)

func main() { demo.Main(run) }

const (
	nameRate     = 0.01  // of free names for which the database is asked
	passwordRate = 0.001 // of good passwords that are refused
	signUps      = 100_000
	newPerDay    = 20_000 // names that are taken between two builds
)

// door is what a sign-up page asks.
type door struct {
	taken  *ribbon.Filter // names at the last build, each night
	today  *bloom.Filter  // those since then
	leaked *ribbon.Filter // digests of passwords
	asked  int            // calls of the database
	names  map[string]bool
}

// free reports whether a name can be had. The database is asked only if a filter has it.
func (d *door) free(name string) bool {
	h := hashing.Hasher{}.HashString(name)
	if !d.taken.ContainsHash(h) && !d.today.ContainsHash(h) {
		return true
	}
	d.asked++
	return !d.names[name]
}

// take gives a name away: the database first, the filter then.
func (d *door) take(name string) {
	d.names[name] = true
	d.today.AddString(name)
}

// digest is the key of a password: who has the filter's source has no list of passwords.
func digest(password string) []byte {
	sum := sha256.Sum256([]byte(password))
	return sum[:]
}

func newDoor(names, passwords []string) (*door, error) {
	d := &door{names: make(map[string]bool, len(names)), today: bloom.New(newPerDay, nameRate)}
	var h hashing.Hasher
	hashes := make([]uint64, len(names))
	for i, name := range names {
		d.names[name], hashes[i] = true, h.HashString(name)
	}
	var err error
	if d.taken, err = ribbon.Build(hashes, nameRate); err != nil {
		return nil, err
	}
	hashes = make([]uint64, len(passwords))
	for i, p := range passwords {
		hashes[i] = h.Hash(digest(p))
	}
	d.leaked, err = ribbon.Build(hashes, passwordRate)
	return d, err
}

type figures struct {
	names, passwords           int
	free, taken                int // names that were asked for
	asked, askedFree           int // calls of the database, and those for free names
	weak, good, found, refused int // passwords that had leaked and not, and what was said of them
	nameBytes, passwordBytes   int
	setBytes                   int
	mistakes                   int // taken names that were called free, and free ones that were called taken
}

func run(ctx context.Context, o demo.Options) (figures, error) {
	names, passwords, err := load(ctx, o)
	if err != nil {
		return figures{}, err
	}
	d, err := newDoor(names, passwords)
	if err != nil {
		return figures{}, err
	}
	f := figures{
		names: len(names), passwords: len(passwords),
		nameBytes: int(d.taken.Stats().Bytes), passwordBytes: int(d.leaked.Stats().Bytes),
	}
	f.setBytes = demo.Set(names)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range signUps {
		f.name(d, wish(rng, names), i)
		f.password(d, passwords, rng)
	}
	return f, ctx.Err()
}

// load returns taken names and leaked passwords: the names of all npm packages and the word
// list of sqlmap, or made-up ones.
func load(ctx context.Context, o demo.Options) (names, passwords []string, err error) {
	if o.Full {
		if names, err = demo.PackageNames(ctx); err != nil {
			return nil, nil, err
		}
		passwords, err = demo.Passwords(ctx)
		return names, passwords, err
	}
	for i := range 50_000 {
		names = append(names, fmt.Sprintf("user-%d", i))
		passwords = append(passwords, fmt.Sprintf("secret%d", i))
	}
	return names, passwords, nil
}

// wish is a name that somebody would like to have: one of four is an existing one, and the
// others have a year or a word behind them.
func wish(rng *rand.Rand, names []string) string {
	name := names[rng.IntN(len(names))]
	switch rng.IntN(4) {
	case 0:
		return name
	case 1:
		return name + strconv.Itoa(1950+rng.IntN(60))
	default:
		return name + "-" + names[rng.IntN(len(names))]
	}
}

func (f *figures) name(d *door, name string, i int) {
	there, before := d.names[name], d.asked
	said := d.free(name)
	if there {
		f.taken++
	} else {
		f.free++
		f.askedFree += d.asked - before
	}
	if said == there {
		f.mistakes++
	}
	if said && i%5 == 0 { // others look around
		d.take(name)
	}
	f.asked = d.asked
}

func (f *figures) password(d *door, passwords []string, rng *rand.Rand) {
	if rng.IntN(2) == 0 {
		f.weak++
		if d.leaked.Contains(digest(passwords[rng.IntN(len(passwords))])) {
			f.found++
		}
		return
	}
	f.good++
	if d.leaked.Contains(digest(strconv.FormatUint(rng.Uint64(), 36) + "!" + strconv.FormatUint(rng.Uint64(), 36))) {
		f.refused++
	}
}

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Count("taken names", f.names)
	t.Bytes("filter of them", f.nameBytes)
	t.Number("bytes a name", float64(f.nameBytes)/float64(f.names), 3)
	t.Varying("exact set of them", demo.Bytes(f.setBytes))
	t.Count("names asked for", f.free+f.taken)
	t.Count("of them free", f.free)
	t.Count("free, and the database was asked", f.askedFree)
	t.Percent("false positive rate asked", nameRate)
	t.Percent("measured", float64(f.askedFree)/float64(f.free))
	t.Percent("database calls saved, of all", 1-float64(f.asked)/float64(f.free+f.taken))
	t.Percent("database calls saved, for free names", 1-float64(f.askedFree)/float64(f.free))
	t.Count("wrong answers", f.mistakes)
	t.Count("leaked passwords", f.passwords)
	t.Bytes("filter of their digests", f.passwordBytes)
	t.Text("leaked ones refused", demo.Count(f.found)+" of "+demo.Count(f.weak))
	t.Text("good ones refused", demo.Count(f.refused)+" of "+demo.Count(f.good))
	return t
}
