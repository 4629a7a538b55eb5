// How merge makes one filter of several of another system.

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/foreign"
)

// mergeForeign adds the keys of filters of another system to the first, and writes that.
func (o *mergeOptions) mergeForeign(ctx context.Context, s *shell, names []string, f *foreignFile, start time.Time) error {
	if f.write == nil {
		return about(names[0], fmt.Errorf("%w: %s is only read", bloomery.ErrIncompatible, f.is))
	}
	for _, name := range names[1:] {
		other, err := o.openForeignToAsk(ctx, name, &o.keyFlags)
		if err != nil {
			return err
		}
		if other == nil {
			return about(name, fmt.Errorf("%w: not %s, as %s is", bloomery.ErrIncompatible, f.is, s.given(names[0])))
		}
		if err := unite(f.foreignFilter, other.foreignFilter); err != nil {
			return hinted{about(name, err), "to merge filters, build them with the same --format, -n and -p"}
		}
	}
	items, exact := itemsOf(f.foreignFilter)
	b := buildOptions{force: o.force, existing: names[0], merging: true, formatFlag: formatFlag{f.name}}
	if err := b.fits(s, f.foreignFilter, surely(f.foreignFilter, items, exact, 0)); err != nil {
		return err
	}
	stats := statsOf(f.foreignFilter)
	data, err := f.write(f.foreignFilter)
	if err != nil {
		return about("", err)
	}
	if err := s.writeBytes(ctx, o.outputFlags, data); err != nil {
		return err
	}
	stats.Kind = f.name
	return s.merged(o.output, stats, len(names), stats.Asked, start)
}

// mixed returns why a file cannot be merged into the first, which is ours, instead of err: it
// may be a filter of another system.
func (o *mergeOptions) mixed(ctx context.Context, s *shell, first, name string, err error) error {
	if o.common { // filters of other systems are never intersected
		return err
	}
	if theirs, openErr := o.openForeign(ctx, name, nil); theirs == nil || openErr != nil {
		return err
	}
	return about(name, fmt.Errorf("%w: a filter of another system, and %s is not: all must have one format", bloomery.ErrIncompatible, s.given(first)))
}

// unite adds all keys of a filter of another system to one of the same format.
func unite(f, other foreignFilter) error {
	switch f := f.(type) {
	case *foreign.Bloom:
		if o, ok := other.(*foreign.Bloom); ok {
			return f.Union(o)
		}
	case *bloom.Split:
		if o, ok := other.(*bloom.Split); ok {
			return f.Union(o)
		}
	default:
		return fmt.Errorf("%w: a %s filter never changes", bloomery.ErrIncompatible, f.Stats().Kind)
	}
	return fmt.Errorf("%w: a %s filter and a %s filter", bloomery.ErrIncompatible, f.Stats().Kind, other.Stats().Kind)
}
