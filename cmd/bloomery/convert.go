package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

// convertOptions are the flags of convert.
type convertOptions struct {
	keyFlags
	outputFlags
	to string
}

// Forms that a filter can be converted to, beside kinds.
const (
	toPlain     = "plain"
	toTransport = "transport"
)

func newConvert() *cobra.Command {
	o := &convertOptions{}
	cmd := &cobra.Command{
		Use:   "convert [--to plain|transport|KIND] -o F A",
		Short: "Write a filter in another form, or as another kind",
		Long: `convert writes the filter in the file A to the file F in another form: the transport
form, which is smaller unless the filter is half full, and the plain form, which can be
mapped. Without --to it writes the one that A has not.

A filter does not hold its keys, so it becomes another kind only where the bits of one
are those of the other: a counting filter becomes a bloom filter. All other kinds must
be built from the keys.`,
		Example: `  bloomery convert --to transport -o words.bft words.bf
  bloomery convert --to plain -o plain.bf words.bft`,
		Args: between(1, 1, "the filter to convert"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, args[0]) })
	cmd.Flags().StringVar(&o.to, "to", "", "`FORM` or kind to write: plain, transport or a kind")
	o.bind(cmd.Flags())
	o.bindOutput(cmd)
	return cmd
}

func (o *convertOptions) run(ctx context.Context, s *shell, name string) error {
	h, err := o.hasher()
	if err != nil {
		return err
	}
	if err := s.checkOutput(o.output, o.overwrite); err != nil {
		return err
	}
	form, err := formOf(name)
	if err != nil {
		return err
	}
	f, err := openFilter(ctx, name, h)
	if err != nil {
		return err
	}
	to, err := o.target(form)
	if err != nil {
		return err
	}
	if to != toPlain && to != toTransport {
		if f, err = convertKind(f, to, h); err != nil {
			return about(name, err)
		}
		to = toPlain
	}
	form = codec.FormPlain
	if to == toTransport {
		form = codec.FormTransport
	}
	if err := s.saveFilter(ctx, o.outputFlags, form, f); err != nil {
		return err
	}
	return s.converted(o.output, form, f)
}

// target returns what to convert to: what was asked for, or the form that the
// file does not have.
func (o *convertOptions) target(form codec.Form) (string, error) {
	known := append([]string{toPlain, toTransport, anyFuse}, kindNames()...)
	switch {
	case o.to != "" && !slices.Contains(known, o.to):
		return "", hinted{fmt.Errorf("--to: unknown form or kind %q", o.to), "one of " + strings.Join(known, ", ")}
	case o.to != "":
		return o.to, nil
	case form == codec.FormTransport:
		return toPlain, nil
	}
	return toTransport, nil
}

// convertKind makes a filter of another kind without its keys, where that is
// possible.
func convertKind(f bloomery.Hashed, to string, h hashing.Hasher) (bloomery.Hashed, error) {
	from := f.Stats().Kind
	if from == to || to == anyFuse && strings.HasPrefix(from, anyFuse) {
		return f, nil
	}
	if c, ok := f.(interface{ Bloom() []byte }); ok && to == "bloom" {
		return codec.Config{Hasher: h}.Open(c.Bloom())
	}
	return nil, hinted{
		fmt.Errorf("%w: a %s filter cannot become a %s filter: it does not hold its keys", bloomery.ErrIncompatible, from, to),
		"build it from the keys: bloomery build --kind " + to,
	}
}

// convertedJSON is what convert tells with --json.
type convertedJSON struct {
	File  string    `json:"file"`
	Form  string    `json:"form"`
	Stats statsJSON `json:"stats"`
}

func (s *shell) converted(name string, form codec.Form, f bloomery.Hashed) error {
	stats := statsOf(f)
	if s.asJSON {
		return s.print(convertedJSON{name, form.String(), stats})
	}
	s.say("%s: %s, %s form", name, stats.Kind, form)
	return nil
}
