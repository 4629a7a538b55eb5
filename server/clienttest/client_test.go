package clienttest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/valkey-io/valkey-go"

	"github.com/bloomery/bloomery/server"
)

func start(t *testing.T, c server.Config) string {
	t.Helper()
	c.Addr = []string{"127.0.0.1:0"}
	s, err := server.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s.Addr().String()
}

func TestGoRedis(t *testing.T) {
	for _, proto := range []int{2, 3} {
		addr := start(t, server.Config{Password: "secret"})
		c := goredis.NewClient(&goredis.Options{Addr: addr, Protocol: proto, Password: "secret", ClientName: "test"})
		defer c.Close()
		ctx := t.Context()
		check(t, c.BFReserve(ctx, "b", 0.01, 1000).Err())
		if got, err := c.BFAdd(ctx, "b", "x").Result(); err != nil || !got {
			t.Errorf("BFAdd = %t, %v, want true", got, err)
		}
		if got, err := c.BFMAdd(ctx, "b", "x", "y", "z").Result(); err != nil || !slices.Equal(got, []bool{false, true, true}) {
			t.Errorf("BFMAdd = %v, %v", got, err)
		}
		if got, err := c.BFMExists(ctx, "b", "x", "no").Result(); err != nil || !slices.Equal(got, []bool{true, false}) {
			t.Errorf("BFMExists = %v, %v", got, err)
		}
		if got, err := c.BFInfo(ctx, "b").Result(); err != nil || got.Capacity != 1000 || got.ItemsInserted != 3 || got.ExpansionRate != 2 {
			t.Errorf("BFInfo = %+v, %v", got, err)
		}
		if got, err := c.BFCard(ctx, "b").Result(); err != nil || got != 3 {
			t.Errorf("BFCard = %d, %v, want 3", got, err)
		}
		dump, err := c.BFScanDump(ctx, "b", 0).Result()
		if err != nil || dump.Iter != 1 || len(dump.Data) != 73 {
			t.Errorf("BFScanDump = %+v, %v", dump, err)
		}
		check(t, c.BFLoadChunk(ctx, "b2", dump.Iter, dump.Data).Err())
		if got, err := c.BFInsert(ctx, "n", &goredis.BFInsertOptions{Capacity: 2, Error: 0.1, NonScaling: true}, "a", "b", "c").Result(); err == nil || len(got) != 3 {
			t.Errorf("BFInsert into a full filter = %v, %v, want what came before the error, and the error", got, err)
		}
		if _, err := c.BFInfo(ctx, "n").Result(); !errors.Is(err, goredis.Nil) {
			t.Errorf("BFInfo of a filter that does not scale: %v, want what RedisBloom gives, %v", err, goredis.Nil)
		}
		check(t, c.CFReserveExpansion(ctx, "c", 100, 2).Err())
		if got, err := c.CFInsert(ctx, "c", &goredis.CFInsertOptions{}, "a", "a").Result(); err != nil || !slices.Equal(got, []bool{true, true}) {
			t.Errorf("CFInsert = %v, %v", got, err)
		}
		if got, err := c.CFInsertNX(ctx, "c", &goredis.CFInsertOptions{}, "a", "b").Result(); err != nil || !slices.Equal(got, []int64{0, 1}) {
			t.Errorf("CFInsertNX = %v, %v", got, err)
		}
		if got, err := c.CFCount(ctx, "c", "a").Result(); err != nil || got != 2 {
			t.Errorf("CFCount = %d, %v, want 2", got, err)
		}
		if got, err := c.CFDel(ctx, "c", "a").Result(); err != nil || !got {
			t.Errorf("CFDel = %t, %v, want true", got, err)
		}
		if got, err := c.CFInfo(ctx, "c").Result(); err != nil || got.NumItemsInserted != 2 || got.NumItemsDeleted != 1 {
			t.Errorf("CFInfo = %+v, %v", got, err)
		}
		tx := c.TxPipeline()
		added := tx.BFAdd(ctx, "b", "tx")
		seen := tx.BFExists(ctx, "b", "tx")
		if _, err := tx.Exec(ctx); err != nil || !added.Val() || !seen.Val() {
			t.Errorf("transaction: %v, %t, %t", err, added.Val(), seen.Val())
		}
		var keys []string
		for it := c.Scan(ctx, 0, "*", 100).Iterator(); it.Next(ctx); {
			keys = append(keys, it.Val())
		}
		slices.Sort(keys)
		if !slices.Equal(keys, []string{"b", "b2", "c", "n"}) {
			t.Errorf("Scan = %v", keys)
		}
		if got, err := c.Info(ctx, "server").Result(); err != nil || !strings.Contains(got, "redis_version:7.4") {
			t.Errorf("Info = %q, %v", got, err)
		}
		if got, err := c.Command(ctx).Result(); err != nil || got["bf.add"] == nil || got["bf.add"].Arity != 3 {
			t.Errorf("Command: %v", err)
		}
	}
}

func TestGoRedisCluster(t *testing.T) {
	c := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{start(t, server.Config{})}})
	defer c.Close()
	if err := c.BFAdd(t.Context(), "b", "x").Err(); err == nil || !strings.Contains(err.Error(), "cluster support disabled") {
		t.Errorf("cluster client: %v, want that cluster support is disabled", err)
	}
}

func TestRueidis(t *testing.T) {
	addr := start(t, server.Config{Password: "secret"})
	for _, resp2 := range []bool{false, true} {
		c, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{addr}, Password: "secret", DisableCache: true, AlwaysRESP2: resp2, ClientName: "test",
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx := t.Context()
		check(t, c.Do(ctx, c.B().Flushall().Build()).Error())
		if got, err := c.Do(ctx, c.B().BfAdd().Key("b").Item("x").Build()).AsBool(); err != nil || !got {
			t.Errorf("BF.ADD = %t, %v, want true", got, err)
		}
		if got, err := c.Do(ctx, c.B().BfMexists().Key("b").Item("x", "y").Build()).AsBoolSlice(); err != nil || !slices.Equal(got, []bool{true, false}) {
			t.Errorf("BF.MEXISTS = %v, %v", got, err)
		}
		if got, err := c.Do(ctx, c.B().CfAdd().Key("c").Item("x").Build()).AsBool(); err != nil || !got {
			t.Errorf("CF.ADD = %t, %v, want true", got, err)
		}
		if got, err := c.Do(ctx, c.B().CfCount().Key("c").Item("x").Build()).AsInt64(); err != nil || got != 1 {
			t.Errorf("CF.COUNT = %d, %v, want 1", got, err)
		}
		for i, r := range c.DoMulti(ctx, c.B().BfAdd().Key("b").Item("1").Build(), c.B().BfAdd().Key("b").Item("2").Build()) {
			if got, err := r.AsBool(); err != nil || !got {
				t.Errorf("BF.ADD %d of a pipeline = %t, %v", i, got, err)
			}
		}
	}
	// Client-side caching is refused cleanly: the client says so and stops.
	if c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, Password: "secret"}); err == nil {
		c.Close()
		t.Error("a client that needs tracking connected")
	} else if !strings.Contains(err.Error(), "tracking") {
		t.Errorf("a client that needs tracking: %v", err)
	}
}

func TestValkey(t *testing.T) {
	addr := start(t, server.Config{})
	for _, resp2 := range []bool{false, true} {
		c, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{addr}, DisableCache: true, AlwaysRESP2: resp2})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx := t.Context()
		check(t, c.Do(ctx, c.B().Flushall().Build()).Error())
		check(t, c.Do(ctx, c.B().BfReserve().Key("b").ErrorRate(0.01).Capacity(100).Build()).Error())
		if got, err := c.Do(ctx, c.B().BfMadd().Key("b").Item("x", "y", "x").Build()).AsBoolSlice(); err != nil || !slices.Equal(got, []bool{true, true, false}) {
			t.Errorf("BF.MADD = %v, %v", got, err)
		}
		if got, err := c.Do(ctx, c.B().BfCard().Key("b").Build()).AsInt64(); err != nil || got != 2 {
			t.Errorf("BF.CARD = %d, %v, want 2", got, err)
		}
		if err := c.Do(ctx, c.B().Get().Key("b").Build()).Error(); err == nil || !strings.HasPrefix(err.Error(), "WRONGTYPE") {
			t.Errorf("GET of a filter: %v, want WRONGTYPE", err)
		}
	}
}

// TestGoRedisFilters runs FILTER commands by Do: maps, booleans and doubles come as
// the client makes them of each protocol.
func TestGoRedisFilters(t *testing.T) {
	for _, proto := range []int{2, 3} {
		c := goredis.NewClient(&goredis.Options{Addr: start(t, server.Config{}), Protocol: proto})
		defer c.Close()
		ctx := t.Context()
		if got, err := c.Do(ctx, "FILTER.CREATE", "f", "cuckoo", "CAPACITY", 1000, "ERROR", 0.001, "PARTS", 2).Text(); err != nil || got != "OK" {
			t.Errorf("FILTER.CREATE = %q, %v", got, err)
		}
		if got, err := c.Do(ctx, "FILTER.ADD", "f", "a", "b", "a").BoolSlice(); err != nil || !slices.Equal(got, []bool{true, true, false}) {
			t.Errorf("FILTER.ADD = %v, %v", got, err)
		}
		if got, err := c.Do(ctx, "FILTER.HAS", "f", "a", "none").BoolSlice(); err != nil || !slices.Equal(got, []bool{true, false}) {
			t.Errorf("FILTER.HAS = %v, %v", got, err)
		}
		if got, err := c.Do(ctx, "FILTER.COUNT", "f", "a", "b").Int64Slice(); err != nil || !slices.Equal(got, []int64{2, 1}) {
			t.Errorf("FILTER.COUNT = %v, %v", got, err)
		}
		info, err := c.Do(ctx, "FILTER.INFO", "f").Result()
		if err != nil {
			t.Fatal(err)
		}
		if proto == 3 {
			m, ok := info.(map[any]any)
			if !ok || m["kind"] != "cuckoo" || m["asked"] != 0.001 || m["items"] != int64(3) {
				t.Errorf("FILTER.INFO = %v", info)
			}
		} else if list, ok := info.([]any); !ok || len(list)%2 != 0 || list[1] != "cuckoo" {
			t.Errorf("FILTER.INFO = %v", info)
		}
		dump, err := c.Do(ctx, "FILTER.DUMP", "f", 0).Slice()
		if err != nil || len(dump) != 2 {
			t.Fatalf("FILTER.DUMP = %v, %v", dump, err)
		}
		if _, err := c.Do(ctx, "FILTER.DEL", "missing", "a").Result(); err == nil || err.Error() != "ERR not found" {
			t.Errorf("FILTER.DEL of a missing key: %v", err)
		}
	}
}

func TestRedigo(t *testing.T) {
	c, err := redis.Dial("tcp", start(t, server.Config{Password: "secret"}), redis.DialPassword("secret"), redis.DialClientName("test"), redis.DialDatabase(0))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, err := redis.Bool(c.Do("BF.ADD", "b", "x")); err != nil || !got {
		t.Errorf("BF.ADD = %t, %v, want true", got, err)
	}
	if got, err := redis.Ints(c.Do("BF.MEXISTS", "b", "x", "y")); err != nil || !slices.Equal(got, []int{1, 0}) {
		t.Errorf("BF.MEXISTS = %v, %v", got, err)
	}
	if got, err := redis.Int(c.Do("CF.ADDNX", "c", "x")); err != nil || got != 1 {
		t.Errorf("CF.ADDNX = %d, %v, want 1", got, err)
	}
	for _, item := range []string{"1", "2", "3"} {
		check(t, c.Send("BF.ADD", "b", item))
	}
	check(t, c.Flush())
	for range 3 {
		if got, err := redis.Int(c.Receive()); err != nil || got != 1 {
			t.Errorf("pipelined BF.ADD = %d, %v, want 1", got, err)
		}
	}
	values, err := redis.Values(c.Do("BF.SCANDUMP", "b", 0))
	if err != nil || len(values) != 2 {
		t.Errorf("BF.SCANDUMP = %v, %v", values, err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
