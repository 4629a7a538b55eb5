package cost

// Users, their rules, and what it takes to ask for their rights.

import (
	"bytes"
	"math"

	"github.com/bloomery/bloomery/server/internal/acl"
	"github.com/bloomery/bloomery/server/internal/store"
)

// ruled is what rules add to a user.
type ruled struct {
	rules  uint64
	size   uint64 // what it takes to describe them
	rights uint64 // what they take for a byte of a name
}

// Users adds what it takes to describe all users.
func (x *Sum) Users() {
	x.Slow()
	x.sum = plus(x.sum, x.everyone().users+x.ruledAll)
}

// User adds what it takes to describe a user.
func (x *Sum) User(name []byte) {
	x.Slow()
	x.copied(name)
}

// copied adds what it takes to copy the rights of a user.
func (x *Sum) copied(name []byte) {
	x.sum = plus(x.sum, sizeOf(x.from.Users.Named(string(name)))+x.ruled[string(name)].size)
}

// Clients adds what it takes to describe all clients.
func (x *Sum) Clients() {
	x.Slow()
	x.sum += x.everyone().clients
}

// crowd is what all users and clients take.
type crowd struct {
	users, clients uint64 // to be described
}

// everyone finds that out once.
func (x *Sum) everyone() *crowd {
	if x.crowd == nil {
		x.crowd = &crowd{clients: uint64(x.from.Clients()) * userBytes}
		for _, u := range x.from.Users.All() {
			x.crowd.users += sizeOf(u)
		}
	}
	return x.crowd
}

// sizeOf returns what it takes to describe a user, or to copy its rights.
func sizeOf(u *acl.User) uint64 {
	if u == nil {
		return 0
	}
	size := u.Size()
	return uint64(userBytes + size.Length + (size.Patterns+size.Rules)*ruleBytes)
}

// Rights notes that a command may give the user of the client other rights: for each call behind it they are asked again.
func (x *Sum) Rights() { x.rights = max(x.rights, Patterns(x.from.Client.Rights())) }

// Rules adds what it takes to put rules in force for a user. Each is compared with those of its kind, and those about commands
// with all commands.
func (x *Sum) Rules(user []byte, rules [][]byte) {
	const (
		alike   = 16
		command = 64 << 10
	)
	var size acl.Size
	if u := x.from.Users.Named(string(user)); u != nil {
		size = u.Size()
	}
	n, commands, length := uint64(len(rules)), uint64(0), uint64(0)
	for _, rule := range rules {
		n += uint64(bytes.Count(rule, []byte(" ")))
		commands += uint64(bytes.Count(rule, []byte("+")) + bytes.Count(rule, []byte("-")))
		length += uint64(len(rule))
	}
	x.copied(user)
	x.sum = plus(x.sum, userBytes+plus(times(length, elementBytes), times(commands, command)))
	had := x.ruled[string(user)]
	x.sum = plus(x.sum, times(times(n, alike), n+had.rules+uint64(size.Patterns+size.Rules)))
	more := ruled{rules: n, size: length + n*ruleBytes, rights: n*matchBytes + length/patternBytes}
	if string(user) == x.from.Client.User() {
		x.Rights()
		x.rights += more.rights
	}
	if x.ruled == nil {
		x.ruled = map[string]ruled{}
	}
	x.ruled[string(user)] = ruled{had.rules + more.rules, had.size + more.size, had.rights + more.rights}
	x.ruledAll += userBytes + more.size
}

// Asked adds what it takes to find out whether a user may use all of these words as names.
func (x *Sum) Asked(user []byte, words [][]byte) {
	each := x.ruled[string(user)].rights
	if u := x.from.Users.Named(string(user)); u != nil {
		each += Patterns(u)
	}
	for _, w := range words {
		x.sum = plus(x.sum, times(uint64(min(len(w), store.MaxName)), each))
	}
}

// Readable adds what it takes to find out which names the user may read. One who may read
// all of them need not.
func (x *Sum) Readable() {
	if !x.from.Client.Rights().All() {
		x.Names(math.MaxInt, nil)
	}
}

// Patterns returns how many bytes count for a byte of a name that is compared with all
// patterns of a user.
func Patterns(u *acl.User) uint64 {
	if u.All() {
		return 0
	}
	size := u.Size()
	return uint64(size.Patterns*matchBytes + size.Length/patternBytes)
}
