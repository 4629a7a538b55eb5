package acl_test

import (
	"errors"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/session"
)

// TestLoadUsers reads the file of users: what is in it is in force, and if it cannot be
// read, all stays as it is.
func TestLoadUsers(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	text, failure := "user default on nopass ~* &* +@all\nuser alice on nopass ~* +get\n", error(nil)
	saved := ""
	b.Rewire(func(c *engine.Config) {
		c.Users = session.UserFile{Name: "users.acl", Read: func() ([]byte, error) { return []byte(text), failure }, Write: func(data []byte) error {
			saved = string(data)
			return failure
		}}
	})
	b.Script(t, `
		ACL USERS -> ["default"]
		ACL LOAD -> +OK
		ACL USERS -> ["alice" "default"]
		ACL SAVE -> +OK`)
	if want := "user alice on nopass sanitize-payload ~* resetchannels -@all +get\nuser default on nopass sanitize-payload ~* &* +@all\n"; saved != want {
		t.Errorf("ACL SAVE has written %q, want %q", saved, want)
	}
	text, failure = "user default on nopass ~* &* +@all\n", errors.New("the disk is gone")
	b.Script(t, `
		ACL LOAD -> -ERR the disk is gone. WARNING: ACL errors detected, no change to the previously active ACL rules was performed
		ACL SAVE -> -ERR There was an error trying to save the ACLs: the disk is gone`)
	failure = nil
	b.Script(t, `
		ACL USERS -> ["alice" "default"]
		ACL LOAD -> +OK
		ACL USERS -> ["default"]`)
}
