package readers

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

// manifest is what the readers are asked, with the answers of the Go library. Its file lies beside
// those of the filters.
type manifest struct {
	Keys   []key    `json:"keys"`
	Hashes []string `json:"hashes"` // 16 hexadecimal digits
	Cases  []*check `json:"cases"`
	// Fragile are files of which every truncation and every changed byte must be refused.
	Fragile []string `json:"fragile"`
}

// key is a text, or bytes.
type key struct {
	Text string `json:"text"`
	Hex  string `json:"hex,omitempty"`
}

func (k key) bytes() []byte {
	if k.Hex != "" {
		b, _ := hex.DecodeString(k.Hex) // made by EncodeToString
		return b
	}
	return []byte(k.Text)
}

// check is one file, as it is or with some bytes changed, how it is to be opened, and what comes
// of it.
type check struct {
	File     string   `json:"file"`
	Changes  [][2]int `json:"changes,omitempty"` // offset and value
	Key      string   `json:"key,omitempty"`     // secret key, hexadecimal
	Function string   `json:"function,omitempty"`
	Limit    int      `json:"limit,omitempty"`

	Error string `json:"error,omitempty"` // its code, or "any"
	Text  string `json:"text,omitempty"`  // a part of its text

	Kind        string  `json:"kind,omitempty"`
	Capacity    uint64  `json:"capacity"`
	Rate        float64 `json:"rate"`
	Found       string  `json:"found,omitempty"` // 1 or 0 for each of the first keys
	FoundHashes string  `json:"foundHashes,omitempty"`
}

// supported are the names of the kinds that readers take.
var supported = []string{"bloom", "standard", "partitioned", "split", "fuse8", "fuse16", "fuse32", "ribbon"}

// The hashers of golden files that are not in their headers.
var (
	secret   = []byte("sixteen byte key")
	keyed    = hashing.Keyed([16]byte(secret))
	lastByte = hashing.Func(func(key []byte) uint64 { return uint64(append([]byte{0}, key...)[len(key)]) })
)

// writer makes a manifest and its files in a folder.
type writer struct {
	t   *testing.T
	dir string
	m   manifest
}

// write fills dir with all that the readers are asked.
func write(t *testing.T, dir string) {
	t.Helper()
	w := &writer{t: t, dir: dir, m: manifest{Keys: keys(), Hashes: hashes()}}
	w.golden()
	w.made()
	w.hostile()
	w.crafted()
	data, err := json.Marshal(w.m)
	if err != nil {
		t.Fatal(err)
	}
	w.save("cases.json", data)
}

func (w *writer) save(name string, data []byte) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), data, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// keys returns the keys that are asked for: of golden files and others, texts of several
// alphabets, and bytes of all lengths at which the hash changes its way.
func keys() []key {
	var all []key
	for i := range 100 {
		all = append(all, key{Text: fmt.Sprintf("key %d", i)}, key{Text: fmt.Sprintf("absent %d", i)})
	}
	for _, text := range []string{"", "é", "e\u0301", "grün", "日本語のキー", "🌸", "mixed ascii und größer", strings.Repeat("ä", 300), strings.Repeat("long ", 200), "\x00", "\u007f\u0080\u07ff\u0800\uffff\U0010ffff"} {
		all = append(all, key{Text: text})
	}
	random := rand.NewChaCha8([32]byte{1})
	for _, n := range append(rising(300), 1023, 1024, 1025, 1088, 1089, 2048, 2049, 3000) {
		b := make([]byte, n)
		_, _ = random.Read(b) // never fails
		all = append(all, key{Hex: hex.EncodeToString(b)})
	}
	return all
}

// rising returns 1 to n, with gaps that grow.
func rising(n int) (all []int) {
	for i := 1; i <= n; i += 1 + i/40 {
		all = append(all, i)
	}
	return all
}

// hashes returns the hashes of the integers that are the keys of golden files, and others.
func hashes() (all []string) {
	for i := range uint64(100) {
		all = append(all, fmt.Sprintf("%016x", hashing.Hasher{}.HashUint64(i)), fmt.Sprintf("%016x", bloomery.Salted(i, 1)))
	}
	return append(all, "0000000000000000", "ffffffffffffffff", "00000000ffffffff", "8000000000000000")
}

// expect completes a check by what the Go library says of data.
func (w *writer) expect(c *check, data []byte, h hashing.Hasher) *check {
	if info, err := codec.Inspect(bytes.NewReader(data)); err == nil && !taken(info.Kind) {
		c.Error = "unsupported"
		return c
	}
	f, err := codec.Config{Hasher: h}.Open(data)
	if err != nil {
		c.Error = codeOf(err)
		return c
	}
	s := f.Stats()
	c.Kind, c.Capacity, c.Rate = s.Kind, s.Capacity, s.Asked
	for _, k := range w.m.Keys {
		c.Found += digit(f.Contains(k.bytes()))
	}
	for _, x := range w.m.Hashes {
		b, _ := hex.DecodeString(x) // made by Sprintf
		c.FoundHashes += digit(f.ContainsHash(binary.BigEndian.Uint64(b)))
	}
	return c
}

// taken reports whether a reader takes a kind, by its number.
func taken(kind uint16) bool { return kind >= 1 && kind <= 4 || kind >= 12 && kind <= 15 }

func digit(found bool) string {
	if found {
		return "1"
	}
	return "0"
}

// codeOf returns the readers' code of an error.
func codeOf(err error) string {
	switch {
	case errors.Is(err, bloomery.ErrCorrupt):
		return "corrupt"
	case errors.Is(err, bloomery.ErrVersion):
		return "version"
	case errors.Is(err, bloomery.ErrKey):
		return "key"
	case errors.Is(err, bloomery.ErrIncompatible):
		return "unsupported"
	}
	return "any"
}

// golden asks for all golden files of the project: those of other kinds are refused.
func (w *writer) golden() {
	w.t.Helper()
	files, err := filepath.Glob("../../*/testdata/v1-*.golden")
	if err != nil {
		w.t.Fatal(err)
	}
	opened := map[string]bool{}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			w.t.Fatal(err)
		}
		name := filepath.Base(path)
		w.save(name, data)
		for _, c := range w.ways(name, data) {
			w.m.Cases = append(w.m.Cases, c)
			opened[c.Kind] = true
		}
	}
	for _, kind := range supported {
		if !opened[kind] {
			w.t.Errorf("no golden file of kind %s was opened", kind)
		}
	}
}

// ways returns the ways to open a golden file: with what it needs, and without or with something
// else.
func (w *writer) ways(name string, data []byte) []*check {
	plain := w.expect(&check{File: name}, data, hashing.Hasher{})
	if plain.Error != "key" {
		return []*check{plain}
	}
	if with := w.expect(&check{File: name, Key: hex.EncodeToString(secret)}, data, keyed); with.Error == "" {
		plain.Text = "made with a secret key: give it"
		other := &check{File: name, Key: strings.Repeat("00", 16), Error: "key", Text: "another secret key"}
		short := &check{File: name, Key: "0011", Error: "key", Text: "16 bytes, not 2"}
		return []*check{plain, with, other, short}
	}
	plain.Text = "hash function of its own: give it"
	other := &check{File: name, Function: "zero", Error: "key", Text: "another hash function"}
	return []*check{plain, w.expect(&check{File: name, Function: "last byte"}, data, lastByte), other}
}

var mutations = flag.Int("mutations", 80, "so many changed copies of each of some files")

// hostile changes bytes of small files and makes their checksums fit: what the Go library refuses
// is refused, and what it opens answers the same.
func (w *writer) hostile() {
	w.t.Helper()
	random := rand.New(rand.NewPCG(4, 32))
	for _, name := range []string{
		"v1-bloom-1e-4", "v1-standard-1e-3", "v1-partitioned-1e-3", "v1-split-1e-2", "v1-fuse8", "v1-fuse16-4-shards", "v1-fuse8-empty",
		"v1-ribbon-64-8-bits", "v1-ribbon-128-1e-3", "v1-ribbon-shards", "v1-ribbon-list", "v1-transport-set", "v1-transport-clear", "v1-transport-runs",
	} {
		name += ".golden"
		data, err := os.ReadFile(filepath.Join(w.dir, name))
		if err != nil {
			w.t.Fatal(err)
		}
		refused := 0
		for i := range *mutations {
			c := w.mutated(name, data, i, random)
			if c.Error != "" {
				refused++
			}
			w.m.Cases = append(w.m.Cases, c)
		}
		if refused < *mutations/8 {
			w.t.Errorf("%s: of %d changed files only %d are refused", name, *mutations, refused)
		}
	}
	for _, name := range []string{"bloom-1e-2", "standard-1e-3", "partitioned-1e-3", "split-1e-2", "fuse8", "fuse16", "fuse32", "ribbon-shards", "transport-raw", "transport-set", "transport-runs"} {
		w.m.Fragile = append(w.m.Fragile, "v1-"+name+".golden")
	}
	w.m.Cases = append(w.m.Cases, &check{File: "v1-transport-empty.golden", Limit: 100, Error: "limit", Text: "the limit is 100"})
	w.short()
}

// short asks for files that are shorter than a header: only the beginning of a filter has ended too early.
func (w *writer) short() {
	for name, c := range map[string]struct{ data, text string }{
		"words": {"alice\nbob\ncarol\n", "not a bloomery file"}, "letter": {"a", "not a bloomery file"},
		"packed": {"bloompak\x01\x00\x00\x00", "data ends after 12 bytes"},
		"none":   {"", "data ends after 0 bytes"}, "bloo": {"bloo", "data ends after 4 bytes"}, "head": {"bloomery\x01\x00", "data ends after 10 bytes"},
	} {
		w.save(name, []byte(c.data))
		w.m.Cases = append(w.m.Cases, &check{File: name, Error: "corrupt", Text: c.text})
	}
}

// mutated returns a check of a file with one to three bytes changed, in the header or in the payload.
func (w *writer) mutated(name string, data []byte, i int, random *rand.Rand) *check {
	changed, from, most := slices.Clone(data), 8, 56
	transport := bytes.HasPrefix(data, []byte("bloompak"))
	if transport {
		from += 16
	}
	if i%8 > 2 {
		from, most = from+56, 72 // the start of the payload, where directories and chunks are
		if i%8 > 5 {
			most = len(data) - from - 8
		}
	}
	for range 1 + random.IntN(3) {
		changed[from+random.IntN(most)] = []byte{0, 1, 2, 3, 0x7f, 0x80, 0xff, byte(random.Uint32())}[random.IntN(8)]
	}
	seal(changed, transport)
	c := &check{File: name}
	for at := range data {
		if data[at] != changed[at] {
			c.Changes = append(c.Changes, [2]int{at, int(changed[at])})
		}
	}
	w.expect(c, changed, hashing.Hasher{})
	c.Found = c.Found[:min(len(c.Found), 60)]
	c.FoundHashes = c.FoundHashes[:min(len(c.FoundHashes), 60)]
	head := changed
	if transport {
		head = changed[16:]
	}
	if c.Error != "" && (transport || !taken(binary.LittleEndian.Uint16(head[10:]))) {
		c.Error = "any" // a reader says first that it does not take the kind, or that it is too large
	}
	return c
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// seal makes the checksums fit that a reader comes to, as far as the file has them where its header
// says.
func seal(data []byte, transport bool) {
	le := binary.LittleEndian
	if transport {
		data = data[16:]
	}
	le.PutUint32(data[60:], checksum(data[:60]))
	payload := le.Uint64(data[48:])
	if transport || payload > uint64(len(data)) || payload == 0 || uint64(len(data)) != 64+payload+8 {
		return
	}
	le.PutUint32(data[64+payload:], checksum(data[64:64+payload]))
	le.PutUint32(data[68+payload:], checksum(data[64+payload:68+payload]))
}
