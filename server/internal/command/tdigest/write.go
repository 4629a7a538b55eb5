package tdigest

// TDIGEST.CREATE, ADD and RESET.

import (
	"math"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/maker"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// defaultCompression is that of a digest made without one.
const defaultCompression = 100

// create is TDIGEST.CREATE key [COMPRESSION compression].
var create = maker.Key{
	Kind: catalog.TDigest, Exists: textExists, Foreign: answer.TextWrongType, NoMemory: textNoMemory,
	Fits: func(words int) bool { return words == 2 || words == 4 },
	Body: func(_ *engine.Context, c *engine.Call) (store.Body, string) { return creationOf(c) },
}.Command(engine.Command{
	Name: "tdigest.create", Arity: -2, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "fast", "tdigest"}, Group: traits.GroupTDigest, Since: "2.4.0",
	Syntax: "key [COMPRESSION compression]", Complexity: "O(c), c being the compression",
	Summary: "Creates a t-digest.",
})

// parseCompression reads a compression. It returns the error text, or "".
func parseCompression(arg []byte) (compression int64, text string) {
	compression, ok := answer.ParseInt(arg)
	switch {
	case !ok:
		return 0, textCompression
	case compression < 1:
		return 0, textLowCompression
	}
	return compression, ""
}

// add is TDIGEST.ADD key value [value ...].
var add = engine.Command{
	Name: "tdigest.add", Arity: -3, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "tdigest"}, Group: traits.GroupTDigest, Since: "2.4.0",
	Syntax: "key value [value ...]", Complexity: "O(n · log c), n values and a compression of c",
	Summary: "Adds values to a t-digest.",
	On: &bundle.OnSketch{
		Family: family, Missing: textMissing, Stride: 1, Fault: textOverflow,
		Body: func(m *store.Scratch, values []byte) store.Body {
			m.TDigestAdd.Values = values
			return &m.TDigestAdd
		},
		Relieve: func(x *engine.Context, entry *catalog.Entry, items int) bool {
			_, due := contents.PartOf(entry).LargeDigest(items)
			return due && x.Staging().Compress(entry).Kind == answer.None
		},
		Encode: func(b []byte, _ *contents.Part, item [][]byte) ([]byte, string) {
			v, ok := answer.ParseFloat(item[0])
			switch {
			case !ok:
				return b, textValue
			case math.IsInf(v, 0):
				return b, textInfinite
			}
			return store.AppendValue(b, v), ""
		},
	},
}

// reset is TDIGEST.RESET key.
var reset = engine.Command{
	Name: "tdigest.reset", Arity: 2, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "fast", "tdigest", "delete"}, Group: traits.GroupTDigest, Since: "2.4.0",
	Syntax: "key", Complexity: "O(1)",
	Summary: "Forgets all values of a t-digest.",
	Cost:    engine.ByBytes(1),
	On: &bundle.OnSketch{
		Family: family, Missing: textMissing, Stride: 1, Fault: textOverflow,
		Body: func(*store.Scratch, []byte) store.Body { return &store.TDigestBegin{} },
	},
}

// creationOf returns the record that makes the digest, or the error text.
func creationOf(c *engine.Call) (r store.Body, text string) {
	compression := int64(defaultCompression)
	if len(c.Args) == 4 {
		// The word may stand in either place; the number is always the last.
		if !answer.Is(c.Args[2], "compression") && !answer.Is(c.Args[3], "compression") {
			return r, textWord
		}
		if compression, text = parseCompression(c.Args[3]); text != "" {
			return r, text
		}
	}
	return digestOf(c.Args[1], compression), ""
}

func digestOf(name []byte, compression int64) store.Body {
	return store.FromDump(catalog.TDigest, name, redisbloom.AppendTDigestHeader(nil, redisbloom.TDigestParams{Compression: compression}))
}
