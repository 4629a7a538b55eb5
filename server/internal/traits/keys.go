package traits

import (
	"slices"
	"strings"

	"github.com/bloomery/bloomery/server/internal/acl"
	"github.com/bloomery/bloomery/server/internal/answer"
)

// What a command does to its keys, in the words of COMMAND INFO.
const (
	KeyRW     = "RW"
	KeyRO     = "RO"
	KeyGet    = "RO access"
	KeyUpdate = "RW access update"
	KeyDelete = "RM delete"
	KeyOW     = "OW update"
	KeyNew    = "OW insert"
	KeyTake   = "RW access delete"
	KeyChange = "RW update"
	KeyAppend = "RW insert"
)

// Key says where a key of a command is, or several to which the same is done: from First to
// Last, every Step. A negative Last counts from the end.
type Key struct {
	First, Last, Step int
	Access            string
	// Counted reports that the argument at First is the number of keys, which
	// follow it; Last does not count.
	Counted bool
	// At, if it is not nil, returns where the one key is, 0 if there is none; First,
	// Last and Step do not count.
	At func(args [][]byte) int
	// Hidden reports that COMMAND does not show them, as RedisBloom's does not.
	Hidden bool

	needs acl.Access
}

// Keys are all keys of a command.
type Keys []Key

// OneKey is the position of almost every key.
func OneKey(access string) Keys { return Keys{KeyAt(1, access)} }

// KeyAt is the position of one key.
func KeyAt(i int, access string) Key { return Key{First: i, Last: i, Step: 1, Access: access} }

// AllKeys are the positions of a command all of whose arguments are keys.
func AllKeys(access string) Keys {
	return Keys{{First: 1, Last: -1, Step: 1, Access: access}}
}

// Span returns where keys are among args: from first to last, every step. There are
// none if last is less than first.
func (k *Key) Span(args [][]byte) (first, last, step int) {
	if k.At != nil {
		if i := k.At(args); i > 0 {
			return i, i, 1
		}
		return 0, -1, 1
	}
	if !k.Counted {
		if last = k.Last; last < 0 {
			last += len(args)
		}
		return k.First, min(last, len(args)-1), k.Step
	}
	if k.First >= len(args) {
		return 0, -1, 1
	}
	n, ok := answer.ParseInt(args[k.First])
	if !ok || n < 1 || n > int64(len(args)-k.First-1) {
		return 0, -1, 1
	}
	return k.First + 1, k.First + int(n), 1
}

// Needs returns what a user must have on the keys: of Keys that For has returned.
func (k *Key) Needs() acl.Access { return k.needs }

// access returns what a user must have on keys of a command. KeyRW alone is both, since
// the answer shows what was there: BF.ADD reports whether the item is new.
func (k *Key) access(f Flags) (a acl.Access) {
	only := strings.HasPrefix(k.Access, KeyRO)
	if only || k.Access == KeyRW || strings.Contains(k.Access, "access") {
		a = acl.Read
	}
	if !only && (f.Writes() || k.Access != KeyRW) { // RedisBloom has KeyRW for SCANDUMP, which only reads
		a |= acl.Write
	}
	return a
}

// For returns the keys of a command of these flags: a copy that knows what a user must have
// on them.
func (keys Keys) For(f Flags) Keys {
	keys = slices.Clone(keys) // those of a description are shared by all tables
	for i := range keys {
		keys[i].needs = keys[i].access(f)
	}
	return keys
}

// Each calls f with the index of every key in args, and what is done to it.
func (keys Keys) Each(args [][]byte, f func(i int, k Key)) {
	for j := range keys {
		first, last, step := keys[j].Span(args)
		for i := first; i <= last; i += step {
			f(i, keys[j])
		}
	}
}

// Has reports whether argument i is the name of a key.
func (keys Keys) Has(args [][]byte, i int) bool {
	for j := range keys {
		if first, last, step := keys[j].Span(args); i >= first && i <= last && (i-first)%step == 0 {
			return true
		}
	}
	return false
}
