package command

import (
	"github.com/bloomery/bloomery/server/internal/store"
)

// bfAdd is BF.ADD key item.
var bfAdd = Command{
	Name: "bf.add", Arity: 3, Flags: Write | DenyOOM | Module, Keys: oneKey, KeyFlags: keyRW,
	Categories: []string{"write", "bloom"}, Group: groupBloom, Since: "1.0.0",
	Syntax: "key item", Complexity: "O(k), k being the number of hash functions",
	Summary: "Adds an item to a Bloom filter, which is created if it is not there.",
	filter:  &filter{family: bloomFamily, single: true, write: bloomAdd},
}

// bfMAdd is BF.MADD key item [item ...].
var bfMAdd = Command{
	Name: "bf.madd", Arity: -3, Flags: Write | DenyOOM | Module, Keys: oneKey, KeyFlags: keyRW,
	Categories: []string{"write", "bloom"}, Group: groupBloom, Since: "1.0.0",
	Syntax: "key item [item ...]", Complexity: "O(k · n), k hash functions and n items",
	Summary: "Adds items to a Bloom filter, which is created if it is not there.",
	filter:  &filter{family: bloomFamily, write: bloomAdd},
}

// bloomAdd is what all commands do that add to a Bloom filter.
var bloomAdd = &write{op: store.OpAdd, create: prepareBloom}

// prepareBloom makes the record that creates a missing Bloom filter: as the
// options say, and as configured where they say nothing.
func prepareBloom(e *Engine, c *Call) store.Record {
	p := e.Settings.bloom()
	if o := c.option; o != nil {
		if o.set&setCapacity != 0 {
			p.Capacity = o.bloom.Capacity
		}
		if o.set&setError != 0 {
			p.Error = o.bloom.Error
		}
		if o.set&setExpansion != 0 {
			p.Expansion = o.bloom.Expansion
		}
		p.NonScaling = o.bloom.NonScaling
	}
	return store.Record{Op: store.OpBloom, Bloom: p}
}
