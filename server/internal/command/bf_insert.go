package command

import (
	"github.com/bloomery/bloomery/foreign/redisbloom"
)

// Which parameters a command gave.
const (
	setCapacity = 1 << iota
	setError
	setExpansion
)

// bfInsert is BF.INSERT key [CAPACITY n] [ERROR e] [EXPANSION n] [NOCREATE]
// [NONSCALING] ITEMS item [item ...].
var bfInsert = Command{
	Name: "bf.insert", Arity: -4, Flags: Write | DenyOOM | Module, Keys: oneKey, KeyFlags: keyRW,
	Categories: []string{"write", "bloom"}, Group: groupBloom, Since: "1.0.0",
	Syntax:     "key [CAPACITY capacity] [ERROR error] [EXPANSION expansion] [NOCREATE] [NONSCALING] ITEMS item [item ...]",
	Complexity: "O(k · n), k hash functions and n items",
	Summary:    "Adds items to a Bloom filter, which is created with these parameters if it is not there.",
	filter:     &filter{family: bloomFamily, parse: parseBFInsert, write: bloomAdd, absent: unlessNoCreate},
}

// parseBFInsert reads the options from left to right. RedisBloom knows the words
// by their letters: c, er, other e, n?c, other n, i.
func parseBFInsert(c *Call, _ *Defaults) {
	o := &options{}
	c.option = o
	for i := 2; i < len(c.Args); {
		word := c.Args[i]
		letter := at(word, 0)
		i++
		switch {
		case letter == 'i':
			if c.items = c.Args[i:]; len(c.items) == 0 {
				c.answer(wrongArity(c.cmd.Name))
			}
			return
		case letter == 'n' && at(word, 2) == 'c':
			o.noCreate = true
			continue
		case letter == 'n':
			o.bloom.NonScaling = true
			continue
		case letter != 'c' && letter != 'e':
			c.answer(fail(textUnknownArgument))
			return
		}
		if i == len(c.Args) {
			break
		}
		if text := o.bloomOption(word, c.Args[i]); text != "" {
			c.answer(fail(text))
			return
		}
		i++
	}
	c.answer(wrongArity(c.cmd.Name))
}

// bloomOption reads an option that has a value. It returns the error, or "".
func (o *options) bloomOption(word, value []byte) string {
	switch {
	case at(word, 0) == 'c':
		n, ok := parseInt(value)
		if !ok || n < 1 || n > redisbloom.MaxCapacity {
			return textInsertCapacity
		}
		o.set |= setCapacity
		o.bloom.Capacity = uint64(n)
	case at(word, 1) == 'r':
		v, ok := parseFloat(value)
		if !ok || v <= 0 || v >= 1 {
			return textInsertError
		}
		o.set |= setError
		o.bloom.Error = min(v, redisbloom.MaxError)
	default:
		n, ok := parseInt(value)
		if !ok || n < 0 || n > redisbloom.MaxExpansion {
			return textInsertExpansion
		}
		o.set |= setExpansion
		o.bloom.Expansion = uint32(n)
	}
	return ""
}

// at returns the letter of a word at i in lower case, 0 if it is shorter.
func at(word []byte, i int) byte {
	if i >= len(word) {
		return 0
	}
	if c := word[i]; c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return word[i]
}

// unlessNoCreate answers a call that must not create its key.
func unlessNoCreate(_ *Engine, c *Call) {
	if c.option != nil && c.option.noCreate {
		c.answer(fail(textNotFound))
	}
}
