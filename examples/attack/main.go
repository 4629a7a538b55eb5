// Command attack shows what an adversary who knows the hash of a filter can do to
// it, and what stops that. Run it with
//
//	go run ./examples/attack
//
// docs/security.md explains the threats and the defences.
package main

import (
	"fmt"
	"io"
	"log"
	"math/bits"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/hashing"
)

const (
	keys  = 10_000 // in each filter
	asked = 20_000 // queries by strangers
	rate  = 0.01   // promised
)

func main() {
	if _, err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// outcome is what an attack has come to.
type outcome struct{ public, secret result }

// run stages every attack twice: against the default hash, whose seed is public,
// and against a secret key, which the adversary does not have. It returns what each
// has come to, by the first word of its title.
func run(w io.Writer) (map[string]outcome, error) {
	outcomes := map[string]outcome{}
	secret := hashing.Keyed([16]byte{0x3d, 0x9a, 0x51, 0xc2, 7, 0xee, 0x10, 0x88, 0x4b, 0xd5, 0x26, 0x71, 0x0c, 0xfa, 0x93, 0x64})
	for _, a := range []struct {
		title  string
		attack func(h hashing.Hasher) (result, error)
	}{
		{"Pollution: an adversary adds keys that set as many new bits as possible", pollute},
		{"Aiming: an adversary adds keys that all fall into one block", aim},
		{"Flooding: an adversary asks for keys that are known to be false positives", flood},
		{"Deleting: an adversary deletes keys that look present", remove},
	} {
		public, err := a.attack(hashing.Hasher{})
		if err != nil {
			return nil, err
		}
		keyed, err := a.attack(secret)
		if err != nil {
			return nil, err
		}
		_, _ = fmt.Fprintf(w, "%s\n  public seed: %s\n  secret key:  %s\n\n", a.title, public, keyed)
		title, _, _ := strings.Cut(a.title, ":")
		outcomes[title] = outcome{public, keyed}
	}
	return outcomes, defend(w)
}

// result is a figure and what it means.
type result struct {
	share float64
	text  string
}

func (r result) String() string { return fmt.Sprintf("%5.1f%% %s", 100*r.share, r.text) }

// name is the i-th key that somebody could think of.
func name(kind string, i int) []byte { return strconv.AppendInt([]byte(kind+"-"), int64(i), 10) }

// falsePositives returns the share of honest absent keys that a filter finds.
func falsePositives(contains func([]byte) bool) float64 {
	yes := 0
	for i := range asked {
		if contains(name("stranger", i)) {
			yes++
		}
	}
	return float64(yes) / asked
}

// pollute fills a filter up to its capacity with chosen keys. The adversary keeps a
// copy of the filter as it would be with the default hash, and of eight candidates
// always adds the one that sets the most new bits.
func pollute(h hashing.Hasher) (result, error) {
	target, err := bloom.Config{Capacity: keys, ErrorRate: rate, Hasher: h}.NewStandard()
	if err != nil {
		return result{}, err
	}
	model := bloom.NewStandard(keys, rate)
	candidate := 0
	for range keys {
		var best *bloom.Standard
		var chosen []byte
		for range 8 {
			key, with := name("crafted", candidate), model.Clone()
			candidate++
			with.Add(key)
			if best == nil || with.Stats().Saturation > best.Stats().Saturation {
				best, chosen = with, key
			}
		}
		model = best
		target.Add(chosen)
	}
	return result{falsePositives(target.Contains), fmt.Sprintf("false positives, promised were %.0f%%", 100*rate)}, nil
}

// aim adds keys whose hash falls into one block, and then asks for others of that
// kind.
func aim(h hashing.Hasher) (result, error) {
	target, err := bloom.Config{Capacity: keys, ErrorRate: rate, Hasher: h}.New()
	if err != nil {
		return result{}, err
	}
	blocks := target.Shape().Bits / 512
	public := hashing.Hasher{}
	next := 0
	aimed := func() []byte { // the adversary computes the public hash
		for ; ; next++ {
			key := name("aimed", next)
			if block, _ := bits.Mul64(public.Hash(key), blocks); block == 7 {
				next++
				return key
			}
		}
	}
	for range 1000 {
		target.Add(aimed())
	}
	yes := 0
	for range 200 {
		if target.Contains(aimed()) {
			yes++
		}
	}
	st := target.Stats()
	return result{float64(yes) / 200, fmt.Sprintf("of aimed queries found; Stats predicts %.4f%%, skew %.0f", 100*st.Predicted, st.Skew)}, nil
}

// filled returns a filter of users that the adversary did not choose.
func filled(h hashing.Hasher) (*bloom.Filter, error) {
	f, err := bloom.Config{Capacity: keys, ErrorRate: rate, Hasher: h}.New()
	if err != nil {
		return nil, err
	}
	for i := range keys {
		f.Add(name("user", i))
	}
	return f, nil
}

// known returns keys that a filter with the public hash and the same users finds
// wrongly: the adversary guesses the users.
func known(n int) ([][]byte, error) {
	model, err := filled(hashing.Hasher{})
	if err != nil {
		return nil, err
	}
	var found [][]byte
	for i := 0; len(found) < n; i++ {
		if key := name("guess", i); model.Contains(key) {
			found = append(found, key)
		}
	}
	return found, nil
}

// flood asks for known false positives only: each of them passes the filter and
// costs a look at the disk.
func flood(h hashing.Hasher) (result, error) {
	target, err := filled(h)
	if err != nil {
		return result{}, err
	}
	queries, err := known(1000)
	if err != nil {
		return result{}, err
	}
	passed := 0
	for _, key := range queries {
		if target.Contains(key) {
			passed++
		}
	}
	return result{float64(passed) / float64(len(queries)), "of the adversary's queries reach the disk"}, nil
}

// remove deletes keys that were never inserted and look present. Every delete takes
// away what others need.
func remove(h hashing.Hasher) (result, error) {
	target, err := counting.Config{Capacity: keys, ErrorRate: rate, Hasher: h}.New()
	if err != nil {
		return result{}, err
	}
	model := counting.New(keys, rate)
	for i := range keys {
		for _, f := range []*counting.Filter{target, model} {
			if err := f.Insert(name("user", i)); err != nil {
				return result{}, err
			}
		}
	}
	for i, deleted := 0, 0; deleted < keys/2 && i < 100*keys; i++ {
		if key := name("guess", i); model.Delete(key) {
			deleted++
			target.Delete(key)
		}
	}
	lost := 0
	for i := range keys {
		if !target.Contains(name("user", i)) {
			lost++
		}
	}
	return result{float64(lost) / keys, "of the users are lost"}, nil
}

// defend shows the two defences that need no secret: to remember what the disk has
// denied, and to delete only what is really there.
func defend(w io.Writer) error {
	disk := map[string]bool{}
	for i := range keys {
		disk[string(name("user", i))] = true
	}
	queries, err := known(1000)
	if err != nil {
		return err
	}
	reads := 0
	first, err := filled(hashing.Hasher{})
	if err != nil {
		return err
	}
	// The negative cache is exact: a filter in its place would deny users. It
	// starts again when it is full, and so is bounded.
	denied := map[string]bool{}
	layers, err := compose.NewLayers(func(key []byte) bool {
		if denied[string(key)] {
			return false
		}
		reads++
		if disk[string(key)] {
			return true
		}
		if len(denied) == 10_000 {
			clear(denied)
		}
		denied[string(key)] = true
		return false
	}, first)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 1))
	const flooded = 100_000
	for range flooded {
		layers.Contains(queries[r.IntN(len(queries))])
	}
	_, _ = fmt.Fprintf(w, "With a negative cache %d floods with %d known false positives cost %d reads.\n", flooded, len(queries), reads)

	users := counting.New(keys, rate)
	for i := range keys {
		if err := users.Insert(name("user", i)); err != nil {
			return err
		}
	}
	for i := range 100 * keys {
		if key := name("guess", i); disk[string(key)] { // the contract of deletes
			users.Delete(key)
		}
	}
	lost := 0
	for i := range keys {
		if !users.Contains(name("user", i)) {
			lost++
		}
	}
	_, _ = fmt.Fprintf(w, "Where only keys are deleted that the store has, %d users are lost.\n", lost)
	return nil
}
