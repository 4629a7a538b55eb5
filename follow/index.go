package follow

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloomery/bloomery"
)

const (
	// indexName is the file that says what a folder holds.
	indexName = "index.json"
	// indexVersion is the version of the layout.
	indexVersion = 1
	// maxIndex bounds the bytes of an index, maxPatches the patches of a filter in it, and
	// maxBytes the sizes that it may name.
	maxIndex   = 4 << 20
	maxPatches = 1000
	maxBytes   = 1 << 50
)

// ErrUntrusted means that what is published is not signed by the key that was given.
var ErrUntrusted = errors.New("not trusted")

// ErrOlder means that an older version is published than the one that was there.
var ErrOlder = errors.New("older than the copy")

// ErrOther means that Config.File is something else than a copy of the filter. It is not
// replaced: remove it, or choose another name.
var ErrOther = errors.New("not a copy of this filter")

// ErrName means that the folder or the server does not have the filter, or that a folder has several
// and none was named.
var ErrName = errors.New("which filter")

// index is what a folder says of itself.
type index struct {
	Layout  int               `json:"bloomery"`
	Filters map[string]*entry `json:"filters"`
}

// entry is what an index says of a filter.
type entry struct {
	// Version grows with every change.
	Version uint64    `json:"version"`
	Made    time.Time `json:"made"`
	// Sum is the SHA-256 of the plain encoding, which has so many bytes.
	Sum   string `json:"sum"`
	Bytes uint64 `json:"bytes"`
	// Check finds damage of the above on its way, Signature also what is done on purpose.
	Check     string `json:"check"`
	Signature []byte `json:"signature,omitempty"`
	// Whole is the filter in the transport form; Patches lead from earlier versions to
	// later ones. What they make is held by Sum, so they need no sums of their own.
	Whole   piece   `json:"whole"`
	Patches []patch `json:"patches,omitempty"`
	// Retired are files of the index before, which those who have just read that one still
	// ask for. The next Publish removes them.
	Retired []string `json:"retired,omitempty"`
}

// piece is a file of the folder.
type piece struct {
	File  string `json:"file"`
	Bytes uint64 `json:"bytes"`
}

// patch is a file that makes the encoding with one sum into that with another.
type patch struct {
	From string `json:"from"`
	To   string `json:"to"`
	piece
}

// parseIndex reads an index and checks what can be checked without the filters.
func parseIndex(data []byte) (*index, error) {
	var x index
	if err := json.Unmarshal(data, &x); err != nil {
		return nil, fmt.Errorf("%w: the index is not JSON: %w", bloomery.ErrCorrupt, err)
	}
	if x.Layout != indexVersion {
		return nil, fmt.Errorf("%w: index of layout %d, this release reads %d", bloomery.ErrVersion, x.Layout, indexVersion)
	}
	for name, e := range x.Filters {
		if e == nil || !e.sound() || e.Check != e.check(name) {
			return nil, fmt.Errorf("%w: the index entry of %q is not valid", bloomery.ErrCorrupt, name)
		}
	}
	return &x, nil
}

func (e *entry) sound() bool {
	ok := e.Version > 0 && isSum(e.Sum) && e.Bytes > 0 && e.Bytes < maxBytes && e.Whole.sound() && len(e.Patches) <= maxPatches &&
		e.Whole.Bytes <= e.Bytes+e.Bytes/1024+1024 // the transport form is never much longer
	for _, p := range e.Patches {
		ok = ok && isSum(p.From) && isSum(p.To) && p.sound()
	}
	return ok
}

// sound reports whether a piece is a file beside the index, and nowhere else.
func (p piece) sound() bool {
	return p.Bytes > 0 && p.Bytes < maxBytes && p.File != "" && p.File[0] != '.' && !strings.ContainsAny(p.File, "/\\:?#%") && strings.IndexFunc(p.File, isControl) < 0
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func isSum(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size && strings.ToLower(s) == s
}

// sumOf returns the sum of a plain encoding.
func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// find returns what the index says of a filter. Without a name the filter is the only one.
func (x *index) find(name string) (string, *entry, error) {
	names := slices.Sorted(maps.Keys(x.Filters))
	switch {
	case name == "" && len(names) == 1:
		name = names[0]
	case name == "" && len(names) == 0:
		return "", nil, fmt.Errorf("%w: the folder has none", ErrName)
	case name == "":
		return "", nil, fmt.Errorf("%w: the folder has several, %s", ErrName, list(names))
	}
	e := x.Filters[name]
	if e == nil {
		return "", nil, fmt.Errorf("%w: the folder does not have %q, it has %s", ErrName, name, list(names))
	}
	return name, e, nil
}

// list names some filters.
func list(names []string) string {
	const most = 10
	if len(names) == 0 {
		return "none"
	}
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	return strings.Join(names, ", ") + more
}

// signed returns what a signature is over: the name of a filter, and which one it is. All else
// in the index only says how to get it.
func (e *entry) signed(name string) []byte {
	return fmt.Appendf(nil, "bloomery published filter\n%s\n%d\n%s\n%d\n%s\n", strconv.Quote(name), e.Version, e.Sum, e.Bytes, e.Made.UTC().Format(time.RFC3339))
}

// check returns what Check has to be.
func (e *entry) check(name string) string { return sumOf(e.signed(name))[:16] }

// verify checks the signature.
func (e *entry) verify(name string, key ed25519.PublicKey) error {
	switch {
	case len(key) == 0:
		return nil
	case len(e.Signature) == 0:
		return fmt.Errorf("%w: there is no signature", ErrUntrusted)
	case !ed25519.Verify(key, e.signed(name), e.Signature):
		return fmt.Errorf("%w: not signed by the given key", ErrUntrusted)
	}
	return nil
}

// chain returns the patches that make the encoding with a sum into the present one for the
// fewest bytes, nil if there are none or the whole filter has fewer.
func (e *entry) chain(from string) []patch {
	type way struct {
		bytes uint64
		last  int // patch
	}
	best := map[string]way{from: {last: -1}}
	// Bellman–Ford: whoever wrote the index, it ends after as many rounds as there are
	// patches, and with patches in their order after two.
	for range e.Patches {
		changed := false
		for i, p := range e.Patches {
			at, ok := best[p.From]
			if !ok || at.bytes+p.Bytes >= e.Whole.Bytes {
				continue
			}
			if to, ok := best[p.To]; !ok || at.bytes+p.Bytes < to.bytes {
				best[p.To] = way{at.bytes + p.Bytes, i}
				changed = true
			}
		}
		if !changed {
			break
		}
	}
	var chain []patch
	for at := e.Sum; at != from; {
		w, ok := best[at]
		if !ok {
			return nil
		}
		chain = append(chain, e.Patches[w.last])
		at = e.Patches[w.last].From
	}
	slices.Reverse(chain)
	return chain
}
