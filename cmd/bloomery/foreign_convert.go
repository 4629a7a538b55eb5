// How convert changes filters of other systems.

package main

import (
	"context"
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
)

// convertForeign converts a filter of another system: to the other form of its format,
// or to one of ours where both have the same bits and the same hash. It reports false if
// the file is not of another system.
func (o *convertOptions) convertForeign(ctx context.Context, s *shell, name string) (done bool, err error) {
	f, err := o.openForeign(ctx, name, nil)
	if err != nil || f == nil {
		return err != nil, err
	}
	if o.format == "" {
		if err := f.sure(name); err != nil {
			return true, err
		}
	}
	if o.seal != "" {
		return true, fmt.Errorf("%s: --seal is for bloomery filters, and this is %s", name, f.is)
	}
	to := o.to
	if to == "" {
		to = f.form
	}
	if to == "" {
		return true, hinted{fmt.Errorf("%s: %s has one form only", name, f.is), foreignHint}
	}
	if own, ok := f.foreignFilter.(bloomery.Hashed); ok && (to == toPlain || to == toTransport || to == own.Stats().Kind) {
		form := codec.FormPlain
		if to == toTransport {
			form = codec.FormTransport
		}
		if err := s.saveFilter(ctx, o.outputFlags, form, own); err != nil {
			return true, err
		}
		return true, s.converted(o.output, form, false, own)
	}
	if to != f.name && to != f.form {
		return true, hinted{about(name, fmt.Errorf("%w: %s cannot become %s: its bits are bound to its hash, and it does not hold its keys", bloomery.ErrIncompatible, f.is, to)), foreignHint}
	}
	return true, o.writeForeign(ctx, s, f.foreignFilter, to)
}

// foreignHint says what to do where nothing can be converted.
const foreignHint = "build it from the keys: bloomery build, for other systems with --format FORMAT"

// writeForeign writes a filter in a format of another system.
func (o *convertOptions) writeForeign(ctx context.Context, s *shell, f foreignFilter, to string) error {
	format, err := formatNamed("to", to, isWritten)
	if err != nil {
		return err
	}
	data, err := format.write(f)
	if err != nil {
		return about("", err)
	}
	if err := s.writeBytes(ctx, o.outputFlags, data); err != nil {
		return err
	}
	stats := statsOf(f)
	if s.asJSON {
		return s.print(convertedJSON{o.output, format.name, stats})
	}
	s.say("%s: %s, %s", o.output, format.is, keysText(stats))
	return nil
}

// convertOurs writes a filter of ours in a format of another system, where both have the
// same bits and the same hash.
func (o *convertOptions) convertOurs(ctx context.Context, s *shell, f bloomery.Hashed) error {
	own, ok := f.(foreignFilter)
	if !ok || o.to != parquetFormat.name || f.Stats().Kind != "split" {
		hint := "build it from the keys: bloomery build --format " + o.to
		if o.to == parquetFormat.name {
			hint += "; bloomery build --kind split --hash xxh64 makes one that can become both"
		}
		return hinted{fmt.Errorf("%w: a %s filter cannot become one of format %s: its bits are bound to its hash, and it does not hold its keys", bloomery.ErrIncompatible, f.Stats().Kind, o.to), hint}
	}
	return o.writeForeign(ctx, s, own, o.to)
}
