package bf

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// Which parameters a command gave.
const (
	setCapacity = 1 << iota
	setError
	setExpansion
)

// options is what BF.INSERT was given.
type options struct {
	params   redisbloom.BloomParams
	set      uint8 // which parameters were given
	noCreate bool
}

// insert is BF.INSERT key [CAPACITY n] [ERROR e] [EXPANSION n] [NOCREATE]
// [NONSCALING] ITEMS item [item ...].
var insert = engine.Command{
	Name: "bf.insert", Arity: -4, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "bloom"}, Group: traits.GroupBloom, Since: "1.0.0",
	Syntax:     "key [CAPACITY capacity] [ERROR error] [EXPANSION expansion] [NOCREATE] [NONSCALING] ITEMS item [item ...]",
	Complexity: "O(k · n), k hash functions and n items",
	Summary:    "Adds items to a Bloom filter, which is created with these parameters if it is not there.",
	On:         &bundle.OnFilter{Family: family, Parse: parseInsert, Write: adding, Absent: unlessNoCreate},
}

// parseInsert reads the options from left to right. RedisBloom knows the words
// by their letters: c, er, other e, n?c, other n, i.
func parseInsert(_ *engine.Context, c *engine.Call) {
	o := &options{}
	c.Option = o
	for i := 2; i < len(c.Args); {
		word := c.Args[i]
		letter := answer.Letter(word, 0)
		i++
		switch {
		case letter == 'i':
			if c.Items = c.Args[i:]; len(c.Items) == 0 {
				c.Answer(answer.WrongArity(c.Command().Name))
			}
			return
		case letter == 'n' && answer.Letter(word, 2) == 'c':
			o.noCreate = true
			continue
		case letter == 'n':
			o.params.NonScaling = true
			continue
		case letter != 'c' && letter != 'e':
			c.Fail(answer.TextUnknownArgument)
			return
		}
		if i == len(c.Args) {
			break
		}
		if text := o.option(word, c.Args[i]); text != "" {
			c.Fail(text)
			return
		}
		i++
	}
	c.Answer(answer.WrongArity(c.Command().Name))
}

// option reads an option that has a value. It returns the error, or "".
func (o *options) option(word, value []byte) string {
	switch {
	case answer.Letter(word, 0) == 'c':
		n, ok := answer.ParseInt(value)
		if !ok || n < 1 || n > redisbloom.MaxCapacity {
			return answer.TextCapacity
		}
		o.set |= setCapacity
		o.params.Capacity = uint64(n)
	case answer.Letter(word, 1) == 'r':
		v, ok := answer.ParseFloat(value)
		if !ok || v <= 0 || v >= 1 {
			return textInsertError
		}
		o.set |= setError
		o.params.ErrorRate = min(v, redisbloom.MaxErrorRate)
	default:
		n, ok := answer.ParseInt(value)
		if !ok || n < 0 || n > redisbloom.MaxExpansion {
			return textInsertExpansion
		}
		o.set |= setExpansion
		o.params.Expansion = uint32(n)
	}
	return ""
}

// unlessNoCreate answers a call that must not create its key.
func unlessNoCreate(c *engine.Call) {
	if c.Option.(*options).noCreate {
		bundle.NotFound(c)
	}
}
