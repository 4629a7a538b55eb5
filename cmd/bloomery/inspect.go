// The command inspect: a filter file read and measured.

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

// inspectOptions are the flags of inspect.
type inspectOptions struct {
	keyFlags
	formatFlag
	probe number[uint64]
	bits  number[uint64]
}

// mostBits bounds what --bits prints, and what it takes in memory.
const mostBits = 1 << 26

func newInspect() *cobra.Command {
	o := &inspectOptions{probe: countFlag(), bits: countFlag()}
	cmd := &cobra.Command{
		Use:     "inspect F...",
		Aliases: []string{"show", "info"},
		Short:   "Show what is in a filter file, and what is damaged",
		Long: `inspect reads all of a filter file and prints its header, how full it is, and
its false positive rate: as the model predicts it and, with --probe N, as
measured with N random keys. All checksums are compared: damage is listed by
offset, and the exit code is then 4.

--bits N prints the first N bits of the array, 64 in a row, the lowest bit of
each word first: a small filter is an easy way to see how keys set bits.

Filters of other systems are recognised by their content, see docs/formats.md.
They have no checksums: only damage to lengths and numbers is found.`,
		Example: `  bloomery inspect words.bf
  bloomery inspect --probe 1e6 words.bf
  bloomery inspect --json words.bf
  bloomery inspect --bits 512 words.bf`,
		Args: between(1, -1, "the filters to look at"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, args) })
	cmd.Flags().Var(&o.probe, "probe", "measure the false positive rate with so many random keys: 1e6")
	cmd.Flags().Var(&o.bits, "bits", "print the first N bits of the array, as 0 and 1")
	o.bind(cmd.Flags())
	o.bindFormat(cmd)
	return cmd
}

func (o *inspectOptions) run(ctx context.Context, s *shell, names []string) error {
	h, err := o.hasher()
	if err != nil {
		return err
	}
	if o.bits.value > mostBits {
		return fmt.Errorf("--bits %s is above %s", o.bits.text, grouped(mostBits))
	}
	var last error
	for i, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if name == "" {
			return errNoName
		}
		if i > 0 && !s.asJSON {
			fmt.Fprintln(s.out)
		}
		err := o.show(ctx, s, name, h)
		if errors.Is(err, syscall.EPIPE) || ctx.Err() != nil {
			return err
		}
		if err != nil && last != nil {
			report(s.errOut, fmt.Errorf("inspect: %w", last)) // all are printed, one at the end
		}
		if err != nil {
			last = err
		}
	}
	return last
}

// show prints what is in a file. The error is also for what is damaged.
func (o *inspectOptions) show(ctx context.Context, s *shell, name string, h hashing.Hasher) error {
	path, err := s.located(ctx, name)
	if err != nil {
		return err
	}
	theirs, err := o.openForeign(ctx, path, nil)
	if err == nil && theirs != nil {
		return o.showForeign(ctx, s, s.given(path), theirs)
	}
	var r *inspected
	if err == nil {
		r, err = abandon(ctx, func() (*inspected, error) { return o.inspect(ctx, path, h) })
	}
	if err != nil {
		err = s.withGiven(err)
	} else {
		r.name = s.given(path)
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err != nil {
		if s.asJSON {
			return errors.Join(err, s.print(uninspectedJSON{name, err.Error()}))
		}
		return err
	}
	defer r.filter.close()
	if err := r.print(s); err != nil {
		return err
	}
	return r.damage()
}

// inspected is what was found in a file.
type inspected struct {
	name     string
	info     codec.Info
	fill     []float64 // share of set bits along the payload
	filter   asked
	openErr  error // why the filter cannot be opened
	probed   uint64
	wrong    uint64
	fileSize int64
	bits     []byte // the first of the payload
	bitCount uint64
}

func (o *inspectOptions) inspect(ctx context.Context, name string, h hashing.Hasher) (*inspected, error) {
	r := &inspected{name: name}
	f, err := os.Open(name)
	if err != nil {
		return nil, about(name, cause(err))
	}
	defer f.Close() //nolint:errcheck // it was only read
	data := bufio.NewReaderSize(f, 1<<20)
	switch head, _ := data.Peek(headSize); {
	case codec.Sealed(head):
		return nil, errSealed(name)
	case !startsLikeFilter(head):
		return nil, notFilter(name, head)
	}
	if r.info, err = codec.Inspect(data); err != nil {
		return nil, about(name, cause(err))
	}
	if info, err := f.Stat(); err == nil {
		r.fileSize = info.Size()
	}
	if len(r.info.Damage) > 0 || r.info.Form == codec.FormPatch || r.info.Name == slicedKind {
		return r, nil
	}
	// All checksums were compared already.
	if r.filter, r.openErr = mapFilter(ctx, name, h, false); r.openErr != nil {
		return r, nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, about(name, cause(err))
	}
	if r.fill, err = fillOf(f, r.info); err != nil {
		return nil, about(name, cause(err))
	}
	if o.bits.value > 0 {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, about(name, cause(err))
		}
		if err := r.readBits(f, o.bits.value); err != nil {
			return nil, about(name, cause(err))
		}
	}
	if o.probe.value > 0 {
		r.probed = o.probe.value
		if r.wrong, err = probe(ctx, r.filter.Hashed, r.probed); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// damage is the error of a damaged file, or of one that cannot be opened.
func (r *inspected) damage() error {
	if err := r.info.Err(); err != nil {
		return about(r.name, err)
	}
	return r.openErr
}

// probeSeed makes measurements repeatable.
const probeSeed = 0x9e3779b97f4a7c15

// probe asks a filter for so many random hashes, and counts the yeses: no key
// was ever added that has one of them, but for a chance of n/2^64.
func probe(ctx context.Context, f bloomery.Hashed, n uint64) (yes uint64, err error) {
	random := rand.NewPCG(probeSeed, 1)
	hs, found := make([]uint64, 4096), make([]bool, 4096)
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		part := min(n, uint64(len(hs)))
		for i := range hs[:part] {
			hs[i] = random.Uint64()
		}
		f.ContainsHashes(found, hs[:part])
		for _, y := range found[:part] {
			if y {
				yes++
			}
		}
		n -= part
	}
	return yes, nil
}

// rates returns the measured false positive rate and its standard deviation.
func (r *inspected) rates() (rate, deviation float64) {
	n := float64(r.probed)
	rate = float64(r.wrong) / n
	return rate, math.Sqrt(max(rate*(1-rate), 1/n) / n)
}

// verdict is one sentence on a file.
func (r *inspected) verdict() (text string, c colour) {
	switch {
	case len(r.info.Damage) > 0:
		return "damaged: " + plural(uint64(len(r.info.Damage)), "part"), red
	case r.info.Form == codec.FormPatch:
		return "sound: a patch, to be applied to another filter", green
	case r.info.Name == slicedKind:
		return "sound: many filters in one, for bloomery which", green
	case r.openErr != nil:
		return "sound, but it cannot be opened: " + strings.TrimPrefix(r.openErr.Error(), r.name+": "), yellow
	}
	s := r.filter.Stats()
	// Twice the rate asked is beyond all rounding and sampling.
	if s.Asked > 0 && s.Predicted > 2*s.Asked {
		return fmt.Sprintf("sound, but overfull: the false positive rate is %.3g times what was asked for", s.Predicted/s.Asked), yellow
	}
	return "sound", green
}
