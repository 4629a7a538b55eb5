package clienttest

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/bloomery/bloomery/server"
)

// TestGoRedisSketches calls all commands of sketches that go-redis has, in both
// protocols.
func TestGoRedisSketches(t *testing.T) {
	for _, proto := range []int{2, 3} {
		c := goredis.NewClient(&goredis.Options{Addr: start(t, server.Config{}), Protocol: proto})
		defer c.Close()
		countMin(t, c)
		topK(t, c)
		tdigest(t, c)
	}
}

// same reports a result that is not what it should be.
func same[T comparable](t *testing.T, name string, got T, err error, want T) {
	t.Helper()
	if err != nil || got != want {
		t.Errorf("%s = %v, %v, want %v", name, got, err, want)
	}
}

// all is same for lists.
func all[T comparable](t *testing.T, name string, got []T, err error, want ...T) {
	t.Helper()
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s = %v, %v, want %v", name, got, err, want)
	}
}

func countMin(t *testing.T, c *goredis.Client) {
	t.Helper()
	ctx := t.Context()
	check(t, c.CMSInitByDim(ctx, "m", 1000, 5).Err())
	check(t, c.CMSInitByProb(ctx, "p", 0.002, 0.01).Err())
	info, err := c.CMSInfo(ctx, "p").Result()
	same(t, "CMSInfo", info, err, goredis.CMSInfo{Width: 1000, Depth: 7})
	counts, err := c.CMSIncrBy(ctx, "m", "a", 1, "b", 2, "c", 3).Result()
	all(t, "CMSIncrBy", counts, err, 1, 2, 3)
	counts, err = c.CMSQuery(ctx, "m", "a", "b", "none").Result()
	all(t, "CMSQuery", counts, err, 1, 2, 0)
	for _, key := range []string{"m2", "sum", "weighted"} {
		check(t, c.CMSInitByDim(ctx, key, 1000, 5).Err())
	}
	check(t, c.CMSIncrBy(ctx, "m2", "a", 10).Err())
	check(t, c.CMSMerge(ctx, "sum", "m", "m2").Err())
	check(t, c.CMSMergeWithWeight(ctx, "weighted", map[string]int64{"m": 2, "m2": 3}).Err())
	counts, err = c.CMSQuery(ctx, "sum", "a", "c").Result()
	all(t, "CMSQuery of a merge", counts, err, 11, 3)
	counts, err = c.CMSQuery(ctx, "weighted", "a", "c").Result()
	all(t, "CMSQuery of a weighted merge", counts, err, 32, 6)
	if err := c.CMSMerge(ctx, "m", "none").Err(); err == nil || err.Error() != "CMS: key does not exist" {
		t.Errorf("CMSMerge of a key that is not there: %v", err)
	}
	if err := c.CMSMerge(ctx, "m", "p").Err(); err == nil || err.Error() != "CMS: width/depth is not equal" {
		t.Errorf("CMSMerge of another size: %v", err)
	}
}

func topK(t *testing.T, c *goredis.Client) {
	t.Helper()
	ctx := t.Context()
	check(t, c.TopKReserve(ctx, "k", 3).Err())
	check(t, c.TopKReserveWithOptions(ctx, "o", 2, 1000, 5, 0.95).Err())
	info, err := c.TopKInfo(ctx, "o").Result()
	same(t, "TopKInfo", info, err, goredis.TopKInfo{K: 2, Width: 1000, Depth: 5, Decay: 0.95})
	out, err := c.TopKAdd(ctx, "o", "a", "b", "b").Result()
	all(t, "TopKAdd", out, err, "", "", "")
	out, err = c.TopKIncrBy(ctx, "o", "c", 5, "b", 1).Result()
	all(t, "TopKIncrBy", out, err, "a", "")
	kept, err := c.TopKQuery(ctx, "o", "a", "b").Result()
	all(t, "TopKQuery", kept, err, false, true)
	counts, err := c.TopKCount(ctx, "o", "b", "c", "none").Result()
	all(t, "TopKCount", counts, err, 3, 5, 0)
	list, err := c.TopKList(ctx, "o").Result()
	all(t, "TopKList", list, err, "c", "b")
	if got, err := c.TopKListWithCount(ctx, "o").Result(); err != nil || !maps.Equal(got, map[string]int64{"b": 3, "c": 5}) {
		t.Errorf("TopKListWithCount = %v, %v", got, err)
	}
}

func tdigest(t *testing.T, c *goredis.Client) {
	t.Helper()
	ctx := t.Context()
	check(t, c.TDigestCreate(ctx, "d").Err())
	check(t, c.TDigestCreateWithCompression(ctx, "e", 50).Err())
	if got, err := c.TDigestMin(ctx, "d").Result(); err != nil || !math.IsNaN(got) {
		t.Errorf("TDigestMin of no values = %v, %v", got, err)
	}
	check(t, c.TDigestAdd(ctx, "d", 10, 20, 30, 40, 50).Err())
	low, err := c.TDigestMin(ctx, "d").Result()
	same(t, "TDigestMin", low, err, 10)
	high, err := c.TDigestMax(ctx, "d").Result()
	same(t, "TDigestMax", high, err, 50)
	values, err := c.TDigestQuantile(ctx, "d", 0, 0.5, 1).Result()
	all(t, "TDigestQuantile", values, err, 10, 30, 50)
	values, err = c.TDigestCDF(ctx, "d", 0, 35, 60).Result()
	all(t, "TDigestCDF", values, err, 0, 0.6, 1)
	values, err = c.TDigestByRank(ctx, "d", 0, 1).Result()
	all(t, "TDigestByRank", values, err, 10, 20)
	values, err = c.TDigestByRevRank(ctx, "d", 0, 1).Result()
	all(t, "TDigestByRevRank", values, err, 50, 40)
	ranks, err := c.TDigestRank(ctx, "d", 5, 20, 100).Result()
	all(t, "TDigestRank", ranks, err, -1, 1, 5)
	ranks, err = c.TDigestRevRank(ctx, "d", 5, 20, 100).Result()
	all(t, "TDigestRevRank", ranks, err, 5, 3, -1)
	mean, err := c.TDigestTrimmedMean(ctx, "d", 0.2, 0.8).Result()
	same(t, "TDigestTrimmedMean", mean, err, 30)
	check(t, c.TDigestAdd(ctx, "e", 60).Err())
	check(t, c.TDigestMerge(ctx, "e", &goredis.TDigestMergeOptions{Compression: 1000, Override: false}, "d").Err())
	if got, err := c.TDigestInfo(ctx, "e").Result(); err != nil || got.Compression != 1000 || got.Observations != 6 {
		t.Errorf("TDigestInfo = %+v, %v", got, err)
	}
	check(t, c.TDigestReset(ctx, "e").Err())
	if err := c.TDigestAdd(ctx, "none", 1).Err(); err == nil || !strings.Contains(err.Error(), "key does not exist") {
		t.Errorf("TDigestAdd without a key: %v", err)
	}
}
