// The command count: how often values were added to a filter.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
)

// countOptions are the flags of count: those of check that say what is asked.
type countOptions struct{ checkOptions }

func newCount() *cobra.Command {
	o := &countOptions{}
	cmd := &cobra.Command{
		Use:   "count F [VALUE...]",
		Short: "Print how often values were added to a filter",
		Long: `count looks the values, or the lines of standard input, up in the filter in the
file F, and prints how often each was added, a tab and the value. The number is
an upper bound: it is never too low, and 0 is certain. The kinds counting,
spectral, cuckoo, quotient and growing count; a filter that was filled without
--multiset has each different line once.

The exit code is 0 if a number is above 0, else 1.`,
		Example: `  bloomery count seen.cf alice bob
  bloomery count --json seen.cf < words2.txt`,
		Args: between(1, -1, "a filter, and values if they are not on standard input"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error {
		return o.run(ctx, s, "count", args[0], args[1:], countsOf)
	})
	o.flags(cmd)
	return cmd
}

// flags adds the flags of commands that print a number for each value.
func (o *countOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVarP(&o.files, "file", "f", nil, "read the values from the lines of `FILE`, - is standard input; may be repeated")
	f.BoolVar(&o.noVerify, "no-verify", false, "do not verify the checksums of the filter")
	o.inputFlags.bind(f)
	o.keyFlags.bind(f)
	o.digestFlags.bind(cmd)
	cmd.ValidArgsFunction = firstIsFile
}

// tally is how a number of a value is found and printed.
type tally struct {
	ask    func(h uint64) (n uint64, ok bool) // ok if there is one
	both   func(n, m uint64) uint64           // what two numbers of a line are together
	absent string                             // instead of a number that is not there
	object func(text *string, raw []byte, n uint64, ok bool) any
}

// countsOf counts values in a filter.
func countsOf(name string, f bloomery.Hashed) (tally, error) {
	counter, ok := f.(bloomery.Counter)
	of := f
	if corrected, wraps := f.(interface{ Filter() bloomery.Hashed }); wraps {
		of = corrected.Filter()
		_, ok = of.(bloomery.Counter)
	}
	if !ok {
		return tally{}, hinted{
			fmt.Errorf("%s: %w: %s filter does not count", name, bloomery.ErrIncompatible, aKind(of.Stats().Kind)),
			"build one of the kinds counting, spectral, cuckoo, quotient or growing",
		}
	}
	return tally{
		ask: func(h uint64) (uint64, bool) {
			n := counter.CountHash(h)
			return n, n > 0
		},
		both:   func(n, m uint64) uint64 { return n + m },
		absent: "0",
		object: func(text *string, raw []byte, n uint64, _ bool) any { return tallyJSON{text, raw, n} },
	}, nil
}

func (o *countOptions) run(ctx context.Context, s *shell, verb, name string, values []string, open func(string, bloomery.Hashed) (tally, error)) error {
	h, err := o.hasher()
	if err != nil {
		return err
	}
	name, err = s.located(ctx, name)
	if err != nil {
		return err
	}
	in, err := o.values(s, values)
	if err != nil {
		return err
	}
	f, err := mapFilter(ctx, name, h, !o.noVerify)
	if err != nil {
		return err
	}
	defer f.close()
	found, err := open(name, f.Hashed)
	if err != nil {
		return err
	}
	hashes, err := o.hashesOf(name, f.Hashed)
	if err != nil {
		return err
	}
	c := tallier{tally: found, hashes: hashes, digests: o.text != "", key: o.compared, separator: o.separator(), asJSON: s.asJSON}
	return answerLines(ctx, s, &o.inputFlags, verb, in, c.work, func(t *tallies) *tallies { return t })
}

// answerLines writes what work makes of all lines, in their order. of is where that is.
func answerLines[T any](ctx context.Context, s *shell, o *inputFlags, label string, in *lines.Input, work func(*lines.Batch, *T) error, of func(*T) *tallies) error {
	stop := s.progress(label, in, !s.quiet)
	defer stop()
	out, found, read, separated := s.data(ctx), false, uint64(0), false
	err := lines.Process(ctx, in, runtime.GOMAXPROCS(0), work, func(b *lines.Batch, v *T) error {
		t := of(v)
		found, separated = found || t.found, separated || t.separated
		read += uint64(len(b.Records))
		if s.quiet || len(t.text) == 0 {
			return nil
		}
		_, err := out.Write(t.text)
		return err
	})
	stop()
	if err == nil {
		o.warnUnseparated(s, read, separated)
	}
	if err == nil && !found {
		return errNo
	}
	return err
}

// tallier looks batches of lines up.
type tallier struct {
	tally
	hashes    hashFunc
	digests   bool
	key       lines.Key
	separator byte
	asJSON    bool
}

// tallies are the answers for one batch.
type tallies struct {
	hashed
	again
	second hashed // of the records that are asked for again
	text   []byte // to be written
	found  bool
}

// tallyJSON is a line with --json. Bytes that are not text come as base64.
type tallyJSON struct {
	Value  *string `json:"value,omitempty"`
	Base64 []byte  `json:"base64,omitempty"`
	Count  uint64  `json:"count"`
}

// work looks a batch up.
func (c *tallier) work(b *lines.Batch, t *tallies) error {
	t.text, t.found = t.text[:0], false
	if err := t.of(b, &c.key, c.hashes); err != nil {
		return err
	}
	if with := t.withCR(b); with == nil || c.digests {
		t.at = nil
	} else if err := t.second.of(with, &c.key, c.hashes); err != nil {
		return err
	}
	j := 0
	for i, r := range b.Records {
		n, ok := c.ask(t.hashes[i])
		if j < len(t.at) && t.at[j] == i { // with its carriage return as well: the filter may be of raw lines
			if m, with := c.ask(t.second.hashes[j]); ok && with {
				n = c.both(n, m)
			} else if with {
				n, ok = m, true
			}
			j++
		}
		t.found = t.found || ok
		if !c.asJSON {
			if ok {
				t.text = strconv.AppendUint(t.text, n, 10)
			} else {
				t.text = append(t.text, c.absent...)
			}
			t.text = append(append(append(t.text, '\t'), r...), c.separator)
			continue
		}
		text, raw := textOrBytes(r)
		line, err := json.Marshal(c.object(text, raw, n, ok))
		if err != nil {
			return err
		}
		t.text = append(append(t.text, line...), '\n')
	}
	return nil
}
