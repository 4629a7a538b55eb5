// Filters of other systems: which formats there are, and how a file is recognised.

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/foreign"
	"github.com/bloomery/bloomery/foreign/bip158"
	"github.com/bloomery/bloomery/foreign/bip37"
	"github.com/bloomery/bloomery/foreign/bitsandblooms"
	"github.com/bloomery/bloomery/foreign/cassandra"
	"github.com/bloomery/bloomery/foreign/dcso"
	"github.com/bloomery/bloomery/foreign/guava"
	"github.com/bloomery/bloomery/foreign/leveldb"
	"github.com/bloomery/bloomery/foreign/parquet"
	"github.com/bloomery/bloomery/foreign/rocksdb"
)

// foreignFilter is a filter of another system.
type foreignFilter interface {
	bloomery.Filter
	ContainsKeys(dst []bool, keys [][]byte)
}

// foreignKey is the key of a hash that is not in the file.
type foreignKey = [bip158.KeySize]byte

// foreignFormat is the file of another system.
type foreignFormat struct {
	name string // what --format and --to take
	is   string // what a file is, as a person says it
	form string // the other form of the same filter, if it has one

	open   func(data []byte, key foreignKey) (foreignFilter, error)
	write  func(f foreignFilter) ([]byte, error)                    // nil if files are only read
	create func(n uint64, p float64) (foreignFilter, error)         // nil if none can be made empty
	build  func(hs []uint64, key foreignKey) (foreignFilter, error) // of all keys at once

	keyed   bool // it is asked with a key
	unclear bool // a file of this format may be one of another as well
	bare    bool // nothing in a file shows what it is
}

// foreignFormats are all formats, in the order in which a file is held against them.
var foreignFormats = []foreignFormat{
	bloomFormat(foreignFormat{name: dcso.Format, is: "a DCSO filter", form: dcsoGzip}, plainDCSO, dcso.New, (*foreign.Bloom).MarshalBinary),
	bloomFormat(foreignFormat{name: dcsoGzip, is: "a DCSO filter, gzipped", form: dcso.Format}, gzippedDCSO, dcso.New, dcso.Gzip),
	bloomFormat(foreignFormat{name: bitsandblooms.Format, is: "a filter of bits-and-blooms", form: bitsJSON}, binaryBits, bitsandblooms.New, (*foreign.Bloom).MarshalBinary),
	bloomFormat(foreignFormat{name: bitsJSON, is: "a filter of bits-and-blooms, as JSON", form: bitsandblooms.Format}, jsonBits, bitsandblooms.New, bitsandblooms.JSON),
	parquetFormat,
	bloomFormat(foreignFormat{name: guava.Format, is: "a Guava filter"}, guava.Open, newGuava, (*foreign.Bloom).MarshalBinary),
	cassandraFormat(cassandra.Format, cassandra.V40),
	cassandraFormat(cassandra.Format+"-3", cassandra.V22),
	cassandraFormat(cassandra.Format+"-2", cassandra.V21),
	bloomFormat(foreignFormat{name: rocksdb.Format, is: "a filter of RocksDB or Pebble"}, rocksdb.Open, newRocksDB, (*foreign.Bloom).MarshalBinary),
	bloomFormat(foreignFormat{name: bip37.Format, is: "a filter of Bitcoin's BIP 37"}, bip37.Open, newBIP37, (*foreign.Bloom).MarshalBinary),
	bip158Format,
	bloomFormat(foreignFormat{name: leveldb.Format, is: "a filter of LevelDB", bare: true}, leveldb.Open, newLevelDB, (*foreign.Bloom).MarshalBinary),
}

// Names of formats that have two forms.
const (
	dcsoGzip = dcso.Format + "-gzip"
	bitsJSON = bitsandblooms.Format + "-json"
)

// bloomFormat completes a format whose filters are of type foreign.Bloom.
func bloomFormat(f foreignFormat, open func([]byte) (*foreign.Bloom, error), fresh func(uint64, float64) (*foreign.Bloom, error), write func(*foreign.Bloom) ([]byte, error)) foreignFormat {
	f.open = func(data []byte, _ foreignKey) (foreignFilter, error) { return filterOr(open(data)) }
	if write != nil {
		f.create = func(n uint64, p float64) (foreignFilter, error) { return filterOr(fresh(n, p)) }
		f.write = writing(write)
	}
	return f
}

// writing returns a function that writes a filter, if it has the type of the format.
func writing[F foreignFilter](write func(F) ([]byte, error)) func(foreignFilter) ([]byte, error) {
	return func(f foreignFilter) ([]byte, error) {
		own, ok := f.(F)
		if !ok {
			return nil, fmt.Errorf("%w: a %s filter", bloomery.ErrIncompatible, f.Stats().Kind)
		}
		return write(own)
	}
}

// filterOr returns a filter, or the error and no filter at all.
func filterOr[F foreignFilter](f F, err error) (foreignFilter, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

// errOtherForm refuses a file that is of the other form of its format.
var errOtherForm = fmt.Errorf("%w: it has the other form", bloomery.ErrVersion)

// only opens files of one form.
func only(form func([]byte) bool, want bool, open func([]byte) (*foreign.Bloom, error)) func([]byte) (*foreign.Bloom, error) {
	return func(data []byte) (*foreign.Bloom, error) {
		if form(data) != want {
			return nil, errOtherForm
		}
		return open(data)
	}
}

var (
	plainDCSO   = only(dcso.Gzipped, false, dcso.Open)
	gzippedDCSO = only(dcso.Gzipped, true, dcso.Open)
	binaryBits  = only(bitsandblooms.IsJSON, false, bitsandblooms.Open)
	jsonBits    = only(bitsandblooms.IsJSON, true, bitsandblooms.Open)
)

func newGuava(n uint64, p float64) (*foreign.Bloom, error) { return guava.New(n, p, guava.Mitz64) }

func newBIP37(n uint64, p float64) (*foreign.Bloom, error) {
	return bip37.New(bip37.Config{Capacity: n, ErrorRate: p})
}

func newLevelDB(n uint64, p float64) (*foreign.Bloom, error) {
	bits, err := leveldb.BitsPerKey(p)
	if err != nil {
		return nil, err
	}
	return leveldb.New(n, bits)
}

func newRocksDB(n uint64, p float64) (*foreign.Bloom, error) {
	bits, err := rocksdb.BitsPerKey(p)
	if err != nil {
		return nil, err
	}
	return rocksdb.New(n, bits)
}

// cassandraFormat is the format of some releases, which is only read.
func cassandraFormat(name string, v cassandra.Version) foreignFormat {
	return bloomFormat(foreignFormat{name: name, is: "a Filter.db of Cassandra " + v.String(), unclear: true},
		func(data []byte) (*foreign.Bloom, error) { return cassandra.Open(data, v) }, nil, nil)
}

var parquetFormat = foreignFormat{
	name: parquet.Format, is: "a filter of a Parquet file", form: toPlain,
	open:  func(data []byte, _ foreignKey) (foreignFilter, error) { return filterOr(parquet.Open(data)) },
	write: writing(func(f *bloom.Split) ([]byte, error) { return parquet.Append(nil, f) }),
	create: func(n uint64, p float64) (foreignFilter, error) {
		if n > 1<<62 || uint64(int(n)) != n {
			return nil, fmt.Errorf("%w: %d keys", bloomery.ErrTooLarge, n)
		}
		return filterOr(parquet.New(int(n), p))
	},
}

var bip158Format = foreignFormat{
	name: bip158.Format, is: "a block filter of Bitcoin's BIP 158", keyed: true,
	open:  func(data []byte, key foreignKey) (foreignFilter, error) { return filterOr(bip158.Open(data, key)) },
	build: func(hs []uint64, key foreignKey) (foreignFilter, error) { return filterOr(bip158.BuildHashes(hs, key)) },
	write: writing((*bip158.Filter).MarshalBinary),
}

// formatNames are the names of formats that satisfy a condition.
func formatNames(which func(foreignFormat) bool) []string {
	var names []string
	for _, f := range foreignFormats {
		if which(f) {
			names = append(names, f.name)
		}
	}
	return names
}

func anyFormat(foreignFormat) bool   { return true }
func isWritten(f foreignFormat) bool { return f.write != nil }
func isCreated(f foreignFormat) bool { return f.create != nil }
func formatIs(name string) func(foreignFormat) bool {
	return func(f foreignFormat) bool { return f.name == name }
}

// formatNamed returns the format with a name, of those that satisfy a condition.
func formatNamed(flag, name string, which func(foreignFormat) bool) (foreignFormat, error) {
	if i := slices.IndexFunc(foreignFormats, formatIs(name)); i >= 0 && which(foreignFormats[i]) {
		return foreignFormats[i], nil
	} else if i >= 0 {
		return foreignFormat{}, hinted{fmt.Errorf("--%s %s: files of this format are only read", flag, name), "one of " + strings.Join(formatNames(which), ", ")}
	}
	return foreignFormat{}, hinted{fmt.Errorf("--%s: unknown format %q", flag, name), "one of " + strings.Join(formatNames(which), ", ")}
}

// formatFlag says which format a file has.
type formatFlag struct{ format string }

// bindFormat adds the flag.
func (o *formatFlag) bindFormat(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.format, "format", "", "the filter is one of another system, in this `FORMAT`: see docs/formats.md (default by its content)")
	completeWords(cmd, "format", formatNames(anyFormat)...)
}

// foreignFile is a filter of another system in a file.
type foreignFile struct {
	foreignFilter
	foreignFormat
	others []foreignFormat // that it may have as well
	size   int
}

// sure refuses to answer for a file that may have several formats: as another one it
// would deny keys that it has.
func (f *foreignFile) sure(name string) error {
	all := append([]foreignFormat{f.foreignFormat}, f.others...)
	if len(all) == 1 && !f.bare {
		return nil
	}
	var names []string
	for _, f := range all {
		names = append(names, fmt.Sprintf("--format %s (%s)", f.name, f.is))
	}
	text := "the file does not show which format it has"
	if len(all) == 1 {
		text = "it may be " + f.is + ", and nothing in the file shows it"
	}
	return hinted{worded{bloomery.ErrCorrupt, name + ": " + text}, "give " + strings.Join(names, " or ")}
}

// openForeign opens a file of another system. It returns nil if the file is none, and
// leaves it to others to say what it is. key may be nil.
func (o *formatFlag) openForeign(ctx context.Context, name string, key *foreignKey) (*foreignFile, error) {
	head, err := headBytes(name)
	if err != nil {
		return nil, err
	}
	formats := foreignFormats
	if o.format != "" {
		f, err := formatNamed("format", o.format, anyFormat)
		if err != nil {
			return nil, err
		}
		formats = []foreignFormat{f}
	} else if !mayBeForeign(head) {
		return nil, nil
	}
	data, err := abandon(ctx, func() ([]byte, error) { return readWhole(name) })
	if err != nil {
		return nil, err
	}
	var none foreignKey
	if key == nil {
		key = &none
	}
	// What a small gzip file unpacks to may take long.
	f, err := abandon(ctx, func() (*foreignFile, error) { return recognised(data, formats, *key) })
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case f == nil && o.format == "":
		return nil, nil
	case f != nil && o.format != "":
		f.bare = false // the user knows
	}
	return f, about(name, err)
}

// mayBeForeign reports whether a file with these first bytes may be of another system: not
// one of ours, not one that is known to be something else, and not a text but JSON.
func mayBeForeign(head []byte) bool {
	if len(head) == 0 || startsLikeFilter(head) {
		return false
	}
	for _, t := range fileTypes {
		if strings.HasPrefix(string(head), t.magic) {
			return false
		}
	}
	return !isText(head) || bitsandblooms.IsJSON(head)
}

// recognised opens data as the first of formats that it fits. The error is that of the
// last one. What has a format that shows is not held against those that do not.
func recognised(data []byte, formats []foreignFormat, key foreignKey) (found *foreignFile, err error) {
	for _, format := range formats {
		if found != nil && (format.bare || found.unclear && !format.unclear) {
			continue
		}
		f, openErr := format.open(data, key)
		switch {
		case errors.Is(openErr, bloomery.ErrVersion):
			err = hinted{openErr, "docs/formats.md, under Limits, says which filters of " + format.name + " are read"}
		case openErr != nil:
			err = openErr
		case found == nil:
			found = &foreignFile{f, format, nil, len(data)}
		default:
			found.others = append(found.others, format)
		}
	}
	if found != nil {
		return found, nil
	}
	return nil, err
}

// errForeignKey asks for the key of a format.
func errForeignKey(is string) error {
	return hinted{errors.New(is + " needs the key of its hash"), "give the first 16 bytes of the block's hash by --key-file, in the reverse of the order in which it is printed"}
}

// openForeignToAsk opens a file of another system that is asked for keys.
func (o *formatFlag) openForeignToAsk(ctx context.Context, name string, k *keyFlags) (*foreignFile, error) {
	key, err := k.key()
	if err != nil {
		return nil, err
	}
	f, err := o.openForeign(ctx, name, key)
	if err != nil || f == nil {
		return nil, err
	}
	if f.keyed && key == nil {
		return nil, about(name, errForeignKey(f.is))
	}
	if o.format == "" {
		if err := f.sure(name); err != nil {
			return nil, err
		}
	}
	return f, nil
}
