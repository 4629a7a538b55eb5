package acl

// ACL LOAD and ACL SAVE.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
)

const (
	textNoFile = "ERR This Redis instance is not configured to use an ACL file. Start the server with --acl-file FILE to keep users in one."
	textKept   = ". WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
)

func runLoad(x *engine.Context, c *engine.Call) {
	if x.Users().File() == "" {
		c.Fail(textNoFile)
		return
	}
	if err := x.Server().LoadUsers(); err != nil {
		c.Fail("ERR " + answer.OneLine(err) + textKept)
		return
	}
	c.Answer(answer.OK())
}

func runSave(x *engine.Context, c *engine.Call) {
	if x.Users().File() == "" {
		c.Fail(textNoFile)
		return
	}
	x.Waits("write the file of users")
	if err := x.Users().Save(); err != nil {
		c.Fail("ERR There was an error trying to save the ACLs: " + answer.OneLine(err))
		return
	}
	c.Answer(answer.OK())
}
