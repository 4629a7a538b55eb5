package command

// bfExists is BF.EXISTS key item.
var bfExists = Command{
	Name: "bf.exists", Arity: 3, Flags: ReadOnly | Module | Fast, Keys: oneKey, KeyFlags: keyRO,
	Categories: []string{"read", "bloom"}, Group: groupBloom, Since: "1.0.0",
	Syntax: "key item", Complexity: "O(k), k being the number of hash functions",
	Summary: "Tells whether an item may have been added to a Bloom filter.",
	filter:  &filter{family: bloomFamily, contains: true, single: true, absent: noneThere, foreign: noneOf},
}

// bfMExists is BF.MEXISTS key item [item ...].
var bfMExists = Command{
	Name: "bf.mexists", Arity: -3, Flags: ReadOnly | Module | Fast, Keys: oneKey, KeyFlags: keyRO,
	Categories: []string{"read", "bloom"}, Group: groupBloom, Since: "1.0.0",
	Syntax: "key item [item ...]", Complexity: "O(k · n), k hash functions and n items",
	Summary: "Tells for each item whether it may have been added to a Bloom filter.",
	filter:  &filter{family: bloomFamily, contains: true, absent: noneThere, foreign: noneOf},
}

// noneThere answers that no item is there, which holds for a missing key.
func noneThere(_ *Engine, c *Call) { noneOf(c) }

// noneOf answers that no item is there, which RedisBloom also says of a key that
// is no filter.
func noneOf(c *Call) { answerBools(c, make([]bool, len(c.items))) }
