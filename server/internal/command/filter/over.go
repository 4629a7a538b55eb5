package filter

// Layers over other filters: FILTER.CREATE key layers OVER filter [filter ...].

import (
	"slices"
	"strconv"

	"github.com/bloomery/bloomery/internal/rdb"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/blueprint"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
)

// layersFamily is how layers are dumped and restored.
var layersFamily = &engine.Family{
	Kind: catalog.Layers,
	Pack: func(w *rdb.Writer, entry *catalog.Entry, _ func(uint32) ([]byte, bool)) bool {
		l := contents.PartOf(entry).Layered()
		if l == nil {
			return false
		}
		w.Data(contents.AppendLayers(nil, l.Names()))
		return true
	},
	ReadValue: func(r *rdb.Reader) (header []byte, parts [][]byte) { return r.Data(), nil },
	Version:   1,
}

// isLayers reports whether a call of FILTER.CREATE makes layers.
func isLayers(args [][]byte) bool { return answer.Is(args[2], blueprint.KindLayers) }

// layersOf returns what makes the layers that a call asks for, or the error text. Whether the
// filters are there is found out when they are asked.
func layersOf(x *engine.Context, c *engine.Call) (*creation, string) {
	v, args := &creation{}, c.Args[3:]
	if len(args) > 0 && answer.Is(args[0], "nx") {
		v.nx, args = true, args[1:]
	}
	if len(args) < 2 || !answer.Is(args[0], "over") {
		return nil, "ERR kind layers takes OVER and the names of filters: FILTER.CREATE key layers [NX] OVER filter [filter ...]"
	}
	if args = args[1:]; len(args) > contents.MaxLayers {
		return nil, "ERR OVER takes " + strconv.Itoa(contents.MaxLayers) + " filters at most"
	}
	names, length := make([]string, len(args)), 0
	for i, name := range args {
		switch {
		case slices.Contains(names[:i], string(name)):
			return nil, "ERR OVER names '" + blueprint.Clip(name) + "' twice"
		case string(name) == string(c.Args[1]):
			return nil, "ERR OVER names '" + blueprint.Clip(name) + "' itself: layers stand over other filters"
		}
		names[i] = string(name)
		length += len(name)
	}
	if length > contents.MaxLayerNames {
		return nil, "ERR OVER takes names of " + strconv.Itoa(contents.MaxLayerNames) + " bytes together at most"
	}
	if x.Contents().Level() < store.LevelLayers {
		return nil, answer.NeedsUpgrade("kind layers")
	}
	v.record = store.Make{As: store.OpLayers, Name: c.Args[1], Header: contents.AppendLayers(nil, names)}
	return v, ""
}

// describeLayers returns the layers with what each has stopped.
func describeLayers(l *contents.Layered) answer.Reply {
	rows := make([]answer.Reply, 0, len(l.Names()))
	for i, name := range l.Names() {
		rows = append(rows, asMap([]field{{"layer", int64(i)}, {"key", name}, {"stopped", whole(l.Stopped(i))}}))
	}
	return answer.List(rows...)
}
