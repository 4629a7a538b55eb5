package clienttest

import (
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/bloomery/bloomery/server"
)

// TestGoRedisUsers makes users by go-redis and works as them.
func TestGoRedisUsers(t *testing.T) {
	for _, proto := range []int{2, 3} {
		addr := start(t, server.Config{Password: "top"})
		ctx := t.Context()
		top := goredis.NewClient(&goredis.Options{Addr: addr, Protocol: proto, Password: "top"})
		defer top.Close()
		check(t, top.ACLSetUser(ctx, "alice", "on", ">a1", "~alice:*", "+@bloom", "+@connection", "-@delete", "addrate=2").Err())
		if got, err := top.ACLList(ctx).Result(); err != nil || len(got) != 2 || !strings.Contains(got[0], "addrate=2 ~alice:* resetchannels -@all +@bloom +@connection -@delete") {
			t.Errorf("ACLList = %q, %v", got, err)
		}
		if got, err := top.ACLUsers(ctx).Result(); err != nil || len(got) != 2 {
			t.Errorf("ACLUsers = %q, %v", got, err)
		}
		if got, err := top.ACLDryRun(ctx, "alice", "GET", "k").Result(); err != nil || got != "User alice has no permissions to run the 'get' command" {
			t.Errorf("ACLDryRun = %q, %v", got, err)
		}

		alice := goredis.NewClient(&goredis.Options{Addr: addr, Protocol: proto, Username: "alice", Password: "a1"})
		defer alice.Close()
		if got, err := alice.BFAdd(ctx, "alice:f", "x").Result(); err != nil || !got {
			t.Errorf("BFAdd = %t, %v", got, err)
		}
		refused(t, "BFAdd of another's key", alice.BFAdd(ctx, "other", "x").Err(), "NOPERM No permissions to access a key")
		refused(t, "Del", alice.Del(ctx, "alice:f").Err(), "NOPERM User alice has no permissions to run the 'del' command")
		refused(t, "BFMAdd", alice.BFMAdd(ctx, "alice:f", "1", "2", "3").Err(), "LIMIT user 'alice' may add 2 items a second")
		pipe := alice.TxPipeline()
		pipe.BFExists(ctx, "alice:f", "x")
		_, err := pipe.Exec(ctx)
		refused(t, "MULTI", err, "NOPERM User alice has no permissions to run the 'multi' command")

		wrong := goredis.NewClient(&goredis.Options{Addr: addr, Protocol: proto, Username: "alice", Password: "a2"})
		defer wrong.Close()
		refused(t, "a wrong password", wrong.BFExists(ctx, "alice:f", "x").Err(), "WRONGPASS")

		log, err := top.ACLLog(ctx, 10).Result()
		if err != nil || len(log) < 4 || log[len(log)-1].Reason != "key" || log[len(log)-1].Object != "other" || log[len(log)-1].Username != "alice" || log[len(log)-1].ClientInfo == nil {
			t.Errorf("ACLLog = %+v, %v", log, err)
		}
		check(t, top.ACLLogReset(ctx).Err())
		if got, err := top.ACLDelUser(ctx, "alice").Result(); err != nil || got != 1 {
			t.Errorf("ACLDelUser = %d, %v", got, err)
		}
		refused(t, "a deleted user", alice.BFExists(ctx, "alice:f", "x").Err(), "WRONGPASS")
	}
}

func refused(t *testing.T, what string, err error, text string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), text) {
		t.Errorf("%s: %v, want %s", what, err, text)
	}
}
