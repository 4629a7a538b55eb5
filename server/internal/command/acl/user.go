package acl

// ACL SETUSER, GETUSER and the other commands on users.

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/bloomery/bloomery/server/internal/acl"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
)

func runSetUser(x *engine.Context, c *engine.Call) {
	rules := make([]string, 0, len(c.Args)-3)
	for _, rule := range c.Args[3:] {
		rules = append(rules, string(rule))
	}
	if err := x.Users().Set(string(c.Args[2]), rules); err != nil {
		c.Fail("ERR " + answer.OneLine(err))
		return
	}
	c.Answer(answer.OK())
}

func runDelUser(x *engine.Context, c *engine.Call) {
	for _, name := range c.Args[2:] {
		if string(name) == acl.Default {
			c.Fail("ERR The 'default' user cannot be removed")
			return
		}
	}
	c.Answer(answer.Integer(int64(x.Server().DeleteUsers(c.Args[2:]))))
}

func runGetUser(x *engine.Context, c *engine.Call) {
	u := x.Users().Named(string(c.Args[2]))
	if u == nil {
		c.Answer(answer.Nil())
		return
	}
	var flags, more []answer.Reply
	for _, flag := range u.Flags() {
		flags = append(flags, answer.Text(flag))
	}
	selectors := u.Selectors()
	for i := range selectors[1:] {
		more = append(more, answer.Pairs(describe(&selectors[1+i])...))
	}
	fields := []answer.Reply{
		answer.Text("flags"), answer.Unordered(flags),
		answer.Text("passwords"), answer.Texts(u.Hashes()),
	}
	fields = append(fields, describe(&selectors[0])...)
	fields = append(fields, answer.Text("selectors"), answer.List(more...))
	if rate := u.AddRate(); rate > 0 {
		fields = append(fields, answer.Text("addrate"), answer.Integer(rate))
	}
	c.Answer(answer.Pairs(fields...))
}

// describe returns the fields of a selector.
func describe(s *acl.Selector) []answer.Reply {
	return []answer.Reply{
		answer.Text("commands"), answer.Text(s.Commands()),
		answer.Text("keys"), answer.Text(s.Keys()),
		answer.Text("channels"), answer.Text(s.Channels()),
	}
}

func runDryRun(x *engine.Context, c *engine.Call) {
	u := x.Users().Named(string(c.Args[2]))
	if u == nil {
		c.Fail("ERR User '" + string(c.Args[2]) + "' not found")
		return
	}
	refusal, failed := x.Server().DryRun(u, c.Args[3:])
	switch {
	case failed.Kind != answer.None:
		c.Answer(failed)
	case refusal != "":
		c.Answer(answer.Text(refusal))
	default:
		c.Answer(answer.OK())
	}
}

func runGenPass(_ *engine.Context, c *engine.Call) {
	const most = 4096
	bits := int64(256)
	if len(c.Args) == 3 {
		var ok bool
		if bits, ok = answer.ParseInt(c.Args[2]); !ok {
			c.Fail(answer.TextInteger)
			return
		}
	}
	if bits <= 0 || bits > most {
		c.Fail("ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096")
		return
	}
	digits := (bits + 3) / 4
	random := make([]byte, (digits+1)/2)
	_, _ = rand.Read(random) // it never fails
	c.Answer(answer.Text(hex.EncodeToString(random)[:digits]))
}
