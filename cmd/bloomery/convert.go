// The command convert: a filter in another form, or as another kind.

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
	formatFlag
	to     string
	seal   string
	unseal string
}

// Forms that a filter can be converted to, beside kinds.
const (
	toPlain     = "plain"
	toTransport = "transport"
)

func newConvert() *cobra.Command {
	o := &convertOptions{}
	cmd := &cobra.Command{
		Use:   "convert [--to plain|transport|KIND|FORMAT] -o F A",
		Short: "Write a filter in another form, or as another kind",
		Long: `convert writes the filter in the file A to the file F in another form: the
transport form, which is smaller unless the filter is half full, and the plain
form, which can be mapped. Without --to it writes the form that A does not have.

A filter does not hold its keys, so it becomes another kind only where the bits
of one are those of the other: a counting filter becomes a bloom filter. All
other kinds must be built from the keys.

The same holds for filters of other systems, whose bits are bound to their own
hash. Those of DCSO become plain or gzipped, those of bits-and-blooms binary or
JSON. A filter of a Parquet file becomes a split filter, and a split filter with
the hash xxh64 becomes one of a Parquet file. --format names the format of A if
its content does not show it; docs/formats.md lists the formats.

--seal encrypts the file with the 32 secret bytes in a key file: only those who
have them can read it, and every change of it is detected. --unseal makes it a
filter again; no other command reads a sealed file. Sealing keeps the form, and
unsealing gives the plain one, unless --to asks for another.`,
		Example: `  bloomery convert --to transport -o words.bft words.bf
  bloomery convert --to plain -o plain.bf words.bft
  head -c 32 /dev/urandom > secret.key
  bloomery convert --seal secret.key -o words.sealed words.bf
  bloomery convert --unseal secret.key -o opened.bf words.sealed`,
		Args: between(1, 1, "the filter to convert"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error { return o.run(ctx, s, args[0]) }).bindSummary(cmd)
	cmd.Flags().StringVar(&o.to, "to", "", "`FORM` to write: plain, transport, a kind, or the format of another system")
	cmd.Flags().StringVar(&o.seal, "seal", "", "encrypt what is written with the 32 secret bytes in `FILE`")
	cmd.Flags().StringVar(&o.unseal, "unseal", "", "A is sealed with the 32 secret bytes in `FILE`")
	completeWords(cmd, "to", targets()...)
	o.bind(cmd.Flags())
	o.bindOutput(cmd)
	o.bindFormat(cmd)
	return cmd
}

// targets is what --to takes.
func targets() []string {
	return slices.Concat([]string{toPlain, toTransport, anyFuse}, kindNames(), formatNames(isWritten))
}

func (o *convertOptions) run(ctx context.Context, s *shell, name string) error {
	h, err := o.hasher()
	if err != nil {
		return err
	}
	if o.output == "-" && s.jsonToStdout() {
		return errJSONOutput
	}
	if err := s.checkOutput(o.output, o.overwrite); err != nil {
		return err
	}
	if name, err = s.located(ctx, name); err != nil {
		return err
	}
	if o.unseal == "" {
		if done, err := o.convertForeign(ctx, s, name); done || err != nil {
			return err
		}
	}
	f, form, err := o.open(ctx, name, h)
	if err != nil {
		return err
	}
	to, err := o.target(form)
	if err != nil {
		return err
	}
	if slices.Contains(formatNames(anyFormat), to) {
		return about(name, o.convertOurs(ctx, s, f))
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
	if err := o.save(ctx, s, form, f); err != nil {
		return err
	}
	return s.converted(o.output, form, o.seal != "", f)
}

// open reads the filter, and returns the form that it had; that of a sealed one
// is of no interest.
func (o *convertOptions) open(ctx context.Context, name string, h hashing.Hasher) (bloomery.Hashed, codec.Form, error) {
	if o.unseal != "" {
		key, err := sealKey("unseal", o.unseal)
		if err != nil {
			return nil, 0, err
		}
		f, err := openSealed(ctx, name, key, h)
		return f, codec.FormTransport, err
	}
	return openWithForm(ctx, name, h)
}

// save writes the filter, sealed if that is asked for.
func (o *convertOptions) save(ctx context.Context, s *shell, form codec.Form, f bloomery.Hashed) error {
	if o.seal == "" {
		return s.saveFilter(ctx, o.outputFlags, form, f)
	}
	key, err := sealKey("seal", o.seal)
	if err != nil {
		return err
	}
	w, err := written(f, nil)
	if err != nil {
		return err
	}
	return s.save(ctx, o.outputFlags, codec.FormPlain, sealing{cancelled{ctx, w, form}, key})
}

// target returns what to convert to: what was asked for, or the form that the
// file does not have.
func (o *convertOptions) target(form codec.Form) (string, error) {
	known := targets()
	switch {
	case o.to != "" && !slices.Contains(known, o.to):
		return "", hinted{fmt.Errorf("--to: unknown form, kind or format %q", o.to), "one of " + strings.Join(known, ", ")}
	case o.to != "":
		return o.to, nil
	case o.unseal != "":
		return toPlain, nil
	case form == codec.FormTransport && o.seal == "" || form == codec.FormPlain && o.seal != "":
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

// convertedJSON is what convert prints with --json.
type convertedJSON struct {
	File  string    `json:"file"`
	Form  string    `json:"form"`
	Stats statsJSON `json:"stats"`
}

func (s *shell) converted(name string, form codec.Form, sealed bool, f bloomery.Hashed) error {
	stats := statsOf(f)
	if s.asJSON {
		return s.print(convertedJSON{name, form.String(), stats})
	}
	text := form.String() + " form"
	if sealed {
		text += ", sealed"
	}
	s.say("%s: %s, %s", name, stats.Kind, text)
	return nil
}
