// Groups of exact filters: each has a rate of its own.

package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/hashing"
)

// groupBits says how many groups there are: a group is known by so many bits of a hash of its
// name, so that no list of names is needed. Two names of one number are one group, which takes
// some space and is no error. Numbers begin at firstGroup and those below it are empty, so that
// files with groups of another origin, which begin at 0, are not taken for ours. All are part of
// the files that build makes.
const (
	groupBits  = 10
	groupSeed  = 0x67726f757073
	firstGroup = 1 << groupBits
)

// groupOf returns the number of the group with a name.
func groupOf(name []byte) int {
	return firstGroup + bloomery.Route(hashing.Seeded(groupSeed).Hash(name), groupBits)
}

// inGroup is the keys of a batch with the names of their groups.
type inGroup struct {
	hashed
	texts lines.Keys
	names [][]byte
}

// inGroups is a filter that is asked by group.
type inGroups interface {
	Groups() int
	Empty(group int) bool
	ContainsIn(group int, h uint64) bool
}

// checkGroups returns an error if --group does not go with the files of a build.
func (u *universe) checkGroups() error {
	for _, files := range u.files {
		if len(files) == 0 || slices.Contains(files, "-") {
			return errors.New("--group reads the files several times: standard input cannot be one of them")
		}
	}
	return nil
}

// groups returns a set of keys with their groups. Its files are read anew each time; fail gets an
// error that ends them.
func (u *universe) groups(ctx context.Context, set int, fail func(error)) exact.Source {
	return func(h hashing.Hasher) iter.Seq2[int, uint64] {
		return func(yield func(int, uint64) bool) {
			err := u.eachInGroup(ctx, set, h, func(group int, x uint64) error {
				if !yield(group, x) {
					return errEnough
				}
				return nil
			})
			if err != nil && !errors.Is(err, errEnough) {
				fail(err)
			}
		}
	}
}

// eachInGroup reads a set once.
func (u *universe) eachInGroup(ctx context.Context, set int, h hashing.Hasher, take func(group int, x uint64) error) error {
	in, err := u.o.input(u.s, u.files[set])
	if err == nil {
		err = u.o.second(in, "group", u.o.group)
	}
	if err != nil {
		return err
	}
	hashes := plainHashes(h)
	if u.o.text != "" {
		hashes = u.o.digests()
	}
	u.lines[set] = 0
	return lines.Process(ctx, in, runtime.GOMAXPROCS(0), func(b *lines.Batch, r *inGroup) error {
		if err := r.of(b, &u.o.compared, hashes); err != nil {
			return err
		}
		r.names = r.texts.Of(b.Second(), b)
		return nil
	}, func(_ *lines.Batch, r *inGroup) error {
		u.lines[set] += uint64(len(r.hashes))
		for i, x := range r.hashes {
			if err := take(groupOf(r.names[i]), x); err != nil {
				return err
			}
		}
		return nil
	})
}

// askGroups returns the function that looks up keys in their groups.
func askGroups(name string, f bloomery.Hashed, hashes hashFunc) (asker, error) {
	x, ok := f.(inGroups)
	if !ok || !builtHere(x) {
		return nil, hinted{
			fmt.Errorf("%s: %w: it was built without --group", name, bloomery.ErrIncompatible),
			"leave --group out",
		}
	}
	return func(k *lines.Key, b *lines.Batch, a *answers) error {
		if err := a.of(b, k, hashes); err != nil {
			return err
		}
		for i, group := range a.groups.Of(b.Second(), b) {
			a.found[i] = x.ContainsIn(groupOf(group), a.hashes[i])
		}
		return nil
	}, nil
}

// builtHere reports whether the groups are those of groupOf.
func builtHere(x inGroups) bool {
	if x.Groups() <= firstGroup || x.Groups() > 2*firstGroup {
		return false
	}
	for group := range firstGroup {
		if !x.Empty(group) {
			return false
		}
	}
	return true
}
