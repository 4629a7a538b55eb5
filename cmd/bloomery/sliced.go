// Sliced filters: many filters in one file, one for each input file.

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/sizing"
)

// slicedKind is the kind that is many filters, which the table of kinds has not:
// build makes it, and which asks it.
const slicedKind = "sliced"

// mostColumns is how many filters a sliced one has at most.
const mostColumns = 1024

// slicedJSON is what build --kind sliced writes with --json.
type slicedJSON struct {
	File    string    `json:"file"`
	Columns int       `json:"columns"`
	Lines   uint64    `json:"lines"`
	Stats   statsJSON `json:"stats"`
}

// buildSliced makes one filter of each file, all of them in one.
func (o *buildOptions) buildSliced(ctx context.Context, s *shell, files []string) error {
	h, err := o.hasher()
	if err != nil {
		return err
	}
	if o.text != "" || o.most.text != "" {
		return errors.New("--hashed and --max are not for --kind sliced")
	}
	if err := o.checkSliced(s, files); err != nil {
		return err
	}
	o.warnOfHash(s)
	columns := make([]*spool, len(files))
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.close()
			}
		}
	}()
	lines, most := uint64(0), uint64(1)
	for i, name := range files {
		columns[i] = &spool{limit: max(o.maxMemory.value/int64(len(files)), leastMemory), folder: folderOf(followed(o.output))}
		read, distinct, err := o.column(ctx, s, name, h, columns[i])
		if err != nil {
			return err
		}
		lines += read
		most = max(most, distinct)
		n, err := sizing.WithHeadroom(o.keys.value, o.headroom.value)
		if err != nil {
			return about("", err)
		}
		if n > 0 && distinct > n && !o.force {
			return hinted{
				fmt.Errorf("%w: %s has %s, and there is room for %s", errLimit, name, plural(distinct, "different line"), grouped(n)),
				"make room with a larger -n, or leave -n out, or --force to write it all the same",
			}
		}
	}
	if o.keys.value > 0 {
		most = o.keys.value
	}
	set, err := o.fillSliced(ctx, h, columns, most)
	if err != nil {
		return err
	}
	if err := s.save(ctx, o.outputFlags, o.form(), set); err != nil {
		return err
	}
	stats := set.Stats()
	if s.asJSON {
		return s.print(slicedJSON{o.output, set.Len(), lines, stats})
	}
	s.say("%s: sliced, %s, %s, %s", o.output, plural(uint64(set.Len()), "column"), plural(lines, "line"), bytesText(stats.Bytes))
	return nil
}

// checkSliced refuses what makes no sense for a sliced filter.
func (o *buildOptions) checkSliced(s *shell, files []string) error {
	switch {
	case len(files) == 0:
		return hinted{errors.New("--kind sliced: give files, one for each column"), "as in: bloomery build --kind sliced -o days.bs monday.txt tuesday.txt"}
	case len(files) > mostColumns:
		return fmt.Errorf("--kind sliced: %d files, and at most %d columns", len(files), mostColumns)
	case o.multiset:
		return errNoCounts(slicedKind)
	case o.keys.text != "" && o.estimate:
		return errors.New("-n and --estimate exclude each other")
	case o.maxMemory.value < leastBuild:
		return fmt.Errorf("--max-memory %s is below 1MiB", o.maxMemory.text)
	case o.output == "-" && s.jsonToStdout():
		return errJSONOutput
	}
	if err := notInput(o.output, files); err != nil {
		return err
	}
	return s.checkOutput(o.output, o.overwrite)
}

// column reads the hashes of one file.
func (o *buildOptions) column(ctx context.Context, s *shell, name string, h hashing.Hasher, to *spool) (lines, distinct uint64, err error) {
	in, err := o.input(s, []string{name})
	if err != nil {
		return 0, 0, err
	}
	stop := s.progress("build", in, o.output == "-")
	defer stop()
	b := builder{in: in, key: o.compared, hashes: plainHashes(h)}
	if err := b.read(ctx, to.add); err != nil {
		return 0, 0, err
	}
	if err := to.flush(ctx); err != nil {
		return 0, 0, err
	}
	stop()
	o.warnUnseparated(s, b.lines, b.separated)
	distinct, err = to.sort(ctx)
	return b.lines, distinct, err
}

// fillSliced makes the filter with a column for each file.
func (o *buildOptions) fillSliced(ctx context.Context, h hashing.Hasher, columns []*spool, n uint64) (*bloom.Sliced, error) {
	if n > 1<<62 || uint64(int(n)) != n {
		return nil, fmt.Errorf("%w: %d keys", bloomery.ErrTooLarge, n)
	}
	set, err := bloom.Config{Columns: len(columns), Capacity: int(n), Headroom: o.headroom.value, ErrorRate: o.rate.value, Hasher: h}.NewSliced()
	if err != nil {
		return nil, about("", err)
	}
	for _, hashes := range columns {
		column, err := set.AddColumn()
		if err != nil {
			return nil, about("", err)
		}
		if err := hashes.each(ctx, func(hs []uint64) error { return set.AddHashes(column, nil, hs) }); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// openSliced reads a sliced filter into memory.
func openSliced(ctx context.Context, name string, info codec.Info, h hashing.Hasher) (*bloom.Sliced, error) {
	return abandon(ctx, func() (*bloom.Sliced, error) {
		f, err := os.Open(name)
		if err != nil {
			return nil, about(name, cause(err))
		}
		defer f.Close() //nolint:errcheck // it was only read
		var r io.Reader = bufio.NewReaderSize(f, 1<<20)
		if info.Form == codec.FormTransport {
			r = codec.NewReader(r)
		}
		set, err := bloom.Config{Hasher: hasherFor(info, h)}.ReadSliced(r)
		return set, about(name, cause(err))
	})
}
