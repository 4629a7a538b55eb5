// The command diff: two filters compared.

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/quotient"
)

// diffOptions are the flags of diff.
type diffOptions struct {
	keyFlags
	patch outputFlags
}

func newDiff() *cobra.Command {
	o := &diffOptions{}
	cmd := &cobra.Command{
		Use:   "diff [--patch FILE] A B",
		Short: "Compare two filters: parameters, and how alike their keys are",
		Long: `diff compares the parameters and the bits of two filters. If they can be merged,
it estimates how many keys they have together and in common, and their Jaccard
index: the number of keys in both over the number in at least one. Estimates are
of the number of different keys; false positives do not count. There is none for
scalable filters that differ, since equal keys may be in different layers.

The exit code is 0 if both are the same filter, 1 if they differ.

--patch writes the changes from A to B to a file instead, for bloomery patch; it
is short if little changed. The exit code is then 0.`,
		Example: `  bloomery diff monday.bf tuesday.bf || echo they differ
  bloomery diff --patch day.patch monday.bf tuesday.bf`,
		Args: between(2, 2, "two filters"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, args[0], args[1]) })
	cmd.Flags().StringVar(&o.patch.output, "patch", "", "write a patch that makes A into B to `FILE`; - is standard output")
	bindOverwrite(cmd.Flags(), &o.patch.overwrite)
	o.bind(cmd.Flags())
	return cmd
}

// diffJSON is what diff prints with --json. Fields about both filters are
// missing if these cannot be united, or the kind does not know.
type diffJSON struct {
	A          statsJSON `json:"a"`
	B          statsJSON `json:"b"`
	Same       bool      `json:"same"`
	Compatible bool      `json:"compatible"`
	Reason     string    `json:"reason,omitempty"`
	Either     *uint64   `json:"either,omitempty"`
	Both       *uint64   `json:"both,omitempty"`
	Jaccard    *float64  `json:"jaccard,omitempty"`
}

func (o *diffOptions) run(ctx context.Context, s *shell, nameA, nameB string) error {
	paths, err := s.locatedAll(ctx, []string{nameA, nameB})
	if err != nil {
		return err
	}
	nameA, nameB = paths[0], paths[1]
	if o.patch.output != "" {
		return makePatch(ctx, s, o.patch, nameA, nameB)
	}
	h, err := o.hasher()
	if err != nil {
		return err
	}
	d, err := abandon(ctx, func() (diffJSON, error) { return compare(ctx, nameA, nameB, h) })
	if err != nil {
		return err
	}
	if s.asJSON {
		err = s.print(d)
	} else {
		err = d.print(s, s.given(nameA), s.given(nameB))
	}
	if err == nil && !d.Same {
		return errNo
	}
	return err
}

// compare compares the filters in two files.
func compare(ctx context.Context, nameA, nameB string, h hashing.Hasher) (d diffJSON, err error) {
	a, err := openFilter(ctx, nameA, h)
	if err != nil {
		return d, err
	}
	b, err := openFilter(ctx, nameB, h)
	if err != nil {
		return d, err
	}
	d.A, d.B = statsOf(a), statsOf(b)
	if d.Same, err = sameBytes(nameA, nameB); err != nil {
		return d, err
	}
	unite := unionOf(a)
	if unite == nil {
		d.Reason = fmt.Sprintf("%s filters cannot be united", d.A.Kind)
		return d, nil
	}
	listed, both, either := inCommon(a, b)
	switch err := unite(b); { // a has the keys of both from here on
	case errors.Is(err, bloomery.ErrIncompatible):
		d.Reason = about("", err).Error()
		return d, nil
	case errors.Is(err, bloomery.ErrFull): // they fit together, only not into one
	case err != nil:
		return d, about(nameB, err)
	case !listed:
		d.estimate(a)
	}
	d.Compatible = true
	if listed {
		d.count(both, either)
	}
	return d, nil
}

// inCommon counts what is in both of two filters, and in at least one, if they
// can list what they hold and have the same size.
func inCommon(a, b bloomery.Hashed) (ok bool, both, either uint64) {
	x, isX := a.(*quotient.Filter)
	y, isY := b.(*quotient.Filter)
	if !isX || !isY || x.Shape().Fingerprints() != y.Shape().Fingerprints() {
		return false, 0, 0
	}
	next, stop := iter.Pull2(y.All())
	defer stop()
	h, _, more := next()
	for g := range x.All() { // both are in rising order
		for more && h < g {
			either++
			h, _, more = next()
		}
		if more && h == g {
			both++
			h, _, more = next()
		}
		either++
	}
	for ; more; _, _, more = next() {
		either++
	}
	return true, both, either
}

// estimate fills in what follows from the number of keys in the union of both,
// if the kind knows it.
func (d *diffJSON) estimate(union bloomery.Hashed) {
	either, exact := itemsOf(union)
	kind, err := kindNamed(d.A.Kind)
	switch {
	case exact || either == unknownItems:
		// A sum of both, in which keys of both count twice, or no estimate.
	case d.Same:
		d.count(d.A.Items, d.A.Items)
	case err != nil || kind.Features.Grow:
		// The layers of both, as above.
	default:
		sum := d.A.Items + d.B.Items
		d.count(min(sum-min(sum, either), d.A.Items, d.B.Items), either)
	}
}

// count fills in how many keys are in both and in at least one.
func (d *diffJSON) count(both, either uint64) {
	jaccard := 1.0 // two empty sets are alike
	if either > 0 {
		jaccard = min(float64(both)/float64(either), 1)
	}
	d.Either, d.Both, d.Jaccard = &either, &both, &jaccard
}

func (d diffJSON) print(s *shell, nameA, nameB string) error {
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, f := range []struct {
		name  string
		stats statsJSON
	}{{nameA, d.A}, {nameB, d.B}} {
		fmt.Fprintf(w, "%s\t%s, %s, %s, made for %s at %s\n", f.name, f.stats.Kind, keysText(f.stats),
			bytesText(f.stats.Bytes), grouped(f.stats.Capacity), rateText(f.stats.Asked))
	}
	if d.Compatible {
		fmt.Fprintf(w, "parameters\tthe same\n")
	} else {
		fmt.Fprintf(w, "parameters\t%s\n", d.Reason)
	}
	if d.Either != nil {
		fmt.Fprintf(w, "in either\tabout %s\nin both\tabout %s\njaccard\t%.4f\n", plural(*d.Either, "key"), plural(*d.Both, "key"), *d.Jaccard)
	}
	verdict := "they differ"
	if d.Same {
		verdict = "the same filter"
	}
	fmt.Fprintf(w, "verdict\t%s\n", verdict)
	return w.Flush()
}

// sameBytes reports whether two files hold the same encoding, in whatever form.
func sameBytes(nameA, nameB string) (bool, error) {
	a, closeA, err := plainReader(nameA)
	if err != nil {
		return false, err
	}
	defer closeA()
	b, closeB, err := plainReader(nameB)
	if err != nil {
		return false, err
	}
	defer closeB()
	bufA, bufB := make([]byte, 1<<16), make([]byte, 1<<16)
	for {
		n, errA := io.ReadFull(a, bufA)
		m, errB := io.ReadFull(b, bufB)
		if !bytes.Equal(bufA[:n], bufB[:m]) {
			return false, nil
		}
		if errA != nil || errB != nil { // both were read whole before: the end
			return true, nil
		}
	}
}

// plainReader reads a file as the plain encoding of its filter.
func plainReader(name string) (io.Reader, func(), error) {
	form, err := formOf(name)
	if err != nil {
		return nil, nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, about(name, cause(err))
	}
	var r io.Reader = bufio.NewReaderSize(f, 1<<16)
	if form == codec.FormTransport {
		r = codec.NewReader(r)
	}
	return r, func() { _ = f.Close() }, nil
}
