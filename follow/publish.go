package follow

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/codec/file"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/regular"
)

// PublishConfig describes how filters are published. Its zero value is ready to use.
type PublishConfig struct {
	_ struct{}

	// Key signs what is published; nil publishes without signatures.
	Key ed25519.PrivateKey
	// Patches is how many patches are kept, for copies that are so many versions old. There
	// are fewer if a copy gets the whole filter for less. 0 means 100, a negative number none.
	Patches int
	// Unsigned publishes without a signature what was signed before, which is refused
	// otherwise: followers who have the public key would take it no more.
	Unsigned bool
}

// Published is what Publish has done.
type Published struct {
	Version uint64
	// Changed is false if this very filter is published already.
	Changed bool
	// Whole and Patch are the bytes that those download who have no copy, and those who
	// have the version before; Patch is 0 if there is none or if it is no shorter.
	Whole, Patch uint64
	// Signed reports that this version has a signature, Mended that its file had to be
	// written again.
	Signed, Mended bool
}

// Publish publishes a filter under a name in a folder, which it makes if it is not there: the
// filter in the transport form, a patch from the version before, and the index, which is
// written last: if the process is killed, the old version stays published. data is the plain
// encoding of a filter of any kind that has a View.
//
// Files of the version before stay for one more version; nothing is removed but what an index
// of this folder has named, and what a Publish of the same version has left that was killed. One
// process publishes at a time.
func Publish(dir, name string, data []byte, c PublishConfig) (Published, error) {
	p, err := publish(dir, name, data, c)
	if err != nil {
		return Published{}, fmt.Errorf("follow: publish: %w", err)
	}
	return p, nil
}

func publish(dir, name string, data []byte, c PublishConfig) (Published, error) {
	if err := checkName(name); err != nil {
		return Published{}, err
	}
	if len(c.Key) != 0 && len(c.Key) != ed25519.PrivateKeySize {
		return Published{}, fmt.Errorf("%w: the key has %d bytes, want %d", bloomery.ErrParameter, len(c.Key), ed25519.PrivateKeySize)
	}
	if _, err := (codec.Config{}).View(data); err != nil && !errors.Is(err, bloomery.ErrKey) { // followers could not, either
		return Published{}, err
	}
	whole, err := codec.Compress(nil, data)
	if err != nil {
		return Published{}, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return Published{}, err
	}
	x, err := readIndex(dir)
	if err != nil {
		return Published{}, err
	}
	before := x.Filters[name]
	e := &entry{Version: 1, Made: time.Now().UTC().Truncate(time.Second), Sum: sumOf(data), Bytes: uint64(len(data))}
	if before != nil {
		if len(before.Signature) > 0 && c.Key == nil && !c.Unsigned {
			return Published{}, fmt.Errorf("version %d is signed: without a key the next one is %w", before.Version, ErrUntrusted)
		}
		if before.Sum == e.Sum {
			return c.publishAgain(dir, x, name, whole)
		}
		e.Version = before.Version + 1
		if e.Made.Before(before.Made) { // a clock was set back
			e.Made = before.Made
		}
	}
	e.Check = e.check(name)
	c.sign(e, name)
	e.Whole = piece{fmt.Sprintf("%s.%d.%s.bft", stem(name), e.Version, e.Sum[:8]), uint64(len(whole))}
	if err := write(dir, e.Whole.File, whole); err != nil {
		return Published{}, err
	}
	done := Published{Version: e.Version, Changed: true, Whole: e.Whole.Bytes, Signed: e.Signature != nil}
	if before != nil && c.most() > 0 {
		if done.Patch, err = c.addPatch(dir, name, data, before, e); err != nil {
			return Published{}, err
		}
	}
	if before != nil {
		e.Retired = without(before.files(), e.files())
	}
	x.Filters[name] = e
	if err := writeIndex(dir, x); err != nil {
		return Published{}, err
	}
	if before != nil {
		remove(dir, without(before.Retired, x.files()))
	}
	remove(dir, without(leftovers(dir, name, e.Version), x.files()))
	return done, nil
}

// leftovers returns the files of a version of a filter, of which some may be of a Publish that was
// killed before it wrote the index: it would have published the same version.
func leftovers(dir, name string, version uint64) (list []string) {
	made := regexp.MustCompile(fmt.Sprintf(`^%s\.%d\.[0-9a-f]{8}(\.bft|-[0-9a-f]{8}\.patch)(\.0\.bloomery\.tmp)?$`, regexp.QuoteMeta(stem(name)), version))
	files, _ := os.ReadDir(dir) // what cannot be read stays
	for _, f := range files {
		if made.MatchString(f.Name()) && f.Type().IsRegular() {
			list = append(list, f.Name())
		}
	}
	return list
}

// most is how many patches are kept.
func (c PublishConfig) most() int {
	if c.Patches == 0 {
		return 100
	}
	return min(c.Patches, maxPatches)
}

// sign signs an entry, if there is a key.
func (c PublishConfig) sign(e *entry, name string) {
	if c.Key != nil {
		e.Signature = ed25519.Sign(c.Key, e.signed(name))
	}
}

// publishAgain is for a filter that is published already: nothing changes but the signature, if
// that is of another key, and a file that is damaged or gone is written again.
func (c PublishConfig) publishAgain(dir string, x *index, name string, whole []byte) (Published, error) {
	e := x.Filters[name]
	done := Published{Version: e.Version, Whole: e.Whole.Bytes}
	if _, err := e.read(dir); errors.Is(err, regular.Err) { // no file can take its place
		return Published{}, err
	} else if err != nil {
		e.Whole.Bytes, done.Mended = uint64(len(whole)), true
		if err := write(dir, e.Whole.File, whole); err != nil {
			return Published{}, err
		}
	}
	old := e.Signature
	e.Signature = nil
	c.sign(e, name)
	done.Signed = e.Signature != nil
	if done.Mended || !bytes.Equal(old, e.Signature) {
		if err := writeIndex(dir, x); err != nil {
			return Published{}, err
		}
	}
	return done, nil
}

// addPatch writes a patch from the version before, unless it is no shorter than the filter,
// and keeps those patches of before that are of use. It returns the bytes of the new one.
func (c PublishConfig) addPatch(dir, name string, data []byte, before, e *entry) (uint64, error) {
	old, err := before.read(dir)
	if err != nil { // it is damaged, or somebody has removed it: copies get the whole filter
		return 0, nil //nolint:nilerr // nothing is lost
	}
	changes, err := codec.Diff(old, data)
	if err != nil {
		return 0, err
	}
	p := patch{before.Sum, e.Sum, piece{fmt.Sprintf("%s.%d.%s-%s.patch", stem(name), e.Version, before.Sum[:8], e.Sum[:8]), uint64(len(changes))}}
	if p.Bytes >= e.Whole.Bytes {
		return 0, nil
	}
	if err := write(dir, p.File, changes); err != nil {
		return 0, err
	}
	// The newest is the last. Older ones are of use as far as they lead here for less than
	// the whole filter.
	sum, from := p.Bytes, p.From
	e.Patches = []patch{p}
	for _, p := range slices.Backward(before.Patches) {
		if sum += p.Bytes; p.To != from || sum >= e.Whole.Bytes || len(e.Patches) == c.most() {
			break
		}
		e.Patches, from = append(e.Patches, p), p.From
	}
	slices.Reverse(e.Patches)
	return p.Bytes, nil
}

// read returns the plain encoding of a published filter.
func (e *entry) read(dir string) ([]byte, error) {
	packed, err := regular.ReadFile(filepath.Join(dir, e.Whole.File), memory.Limit())
	if err != nil {
		return nil, err
	}
	data, err := codec.Decompress(nil, packed)
	if err == nil && sumOf(data) != e.Sum {
		err = fmt.Errorf("%w: the SHA-256 of %s is wrong", bloomery.ErrCorrupt, e.Whole.File)
	}
	return data, err
}

// files returns the files of an entry.
func (e *entry) files() []string {
	list := []string{e.Whole.File}
	for _, p := range e.Patches {
		list = append(list, p.File)
	}
	return list
}

// files returns the files of all entries, those of before included.
func (x *index) files() (list []string) {
	for _, e := range x.Filters {
		list = append(append(list, e.files()...), e.Retired...)
	}
	return list
}

// without returns the elements of a that are not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// remove removes files that an index has named. Those that cannot be removed stay.
func remove(dir string, files []string) {
	for _, f := range files {
		if (piece{f, 1}).sound() && f != indexName {
			_ = os.Remove(filepath.Join(dir, f))
		}
	}
}

// readIndex reads the index of a folder. Where there is none it is empty.
func readIndex(dir string) (*index, error) {
	data, err := regular.ReadFile(filepath.Join(dir, indexName), maxIndex)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &index{Layout: indexVersion, Filters: map[string]*entry{}}, nil
	case err != nil:
		return nil, err
	}
	x, err := parseIndex(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, indexName), err)
	}
	if x.Filters == nil {
		x.Filters = map[string]*entry{}
	}
	return x, nil
}

func writeIndex(dir string, x *index) error {
	data, err := json.MarshalIndent(x, "", " ")
	if err != nil {
		return err
	}
	if len(data) > maxIndex {
		return fmt.Errorf("%w: the index would have %d bytes, at most %d are read: publish in several folders", bloomery.ErrTooLarge, len(data), maxIndex)
	}
	// Web servers that know a file by its size and the second of its last change see a new
	// one: indexes that follow each other differ in length.
	versions := uint64(0)
	for _, e := range x.Filters {
		versions += e.Version
	}
	data = append(data, bytes.Repeat([]byte{' '}, int(versions%61))...)
	return write(dir, indexName, append(data, '\n'))
}

// write writes a file, all of it or nothing.
func write(dir, name string, data []byte) error {
	return file.WriteFile(filepath.Join(dir, name), bytes.NewReader(data))
}

// checkName refuses names that a line of text cannot show.
func checkName(name string) error {
	if name == "" || len(name) > 200 || !utf8.ValidString(name) || strings.IndexFunc(name, isControl) >= 0 {
		return fmt.Errorf("%w: a filter is published under a name of 1 to 200 bytes without control characters, not %.300q", bloomery.ErrParameter, name)
	}
	return nil
}

// stem is a name as a part of the names of files. Two names may have the same: the sums in
// the names of files tell them apart.
func stem(name string) string {
	out := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, name)
	return out[:min(len(out), 64)]
}
