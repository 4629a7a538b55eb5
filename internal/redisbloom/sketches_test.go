package redisbloom_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

func newCountMin(tb testing.TB, width, depth uint64) *redisbloom.CountMin {
	tb.Helper()
	c, err := redisbloom.NewCountMin(redisbloom.CountMinParams{Width: width, Depth: depth})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func newTopK(tb testing.TB, p redisbloom.TopKParams) *redisbloom.TopK {
	tb.Helper()
	k, err := redisbloom.NewTopK(p)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func newTDigest(tb testing.TB, compression int64) *redisbloom.TDigest {
	tb.Helper()
	d, err := redisbloom.NewTDigest(redisbloom.TDigestParams{Compression: compression})
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// TestRecordedSketches replays the replies that a RedisBloom server sent, as
// far as they are answers of a sketch: arity, types of keys and words of
// options are the server's. Lines that cannot be replayed are counted.
func TestRecordedSketches(t *testing.T) {
	file, err := os.Open("testdata/sketches.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	r := &sketches{t: t}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	n, replayed := 0, 0
	for ; lines.Scan(); n++ {
		var line struct {
			Group string
			Proto int
			Args  []latin1
			Reply latin1
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.Proto != 2 {
			continue // the same answers in other bytes
		}
		args := make([]string, len(line.Args))
		for i := range args {
			args[i] = string(line.Args[i])
		}
		got, ok := r.do(args, string(line.Reply))
		if !ok {
			continue
		}
		replayed++
		if want := string(line.Reply); got != want && !sameNumbers(got, want) {
			t.Errorf("line %d, %s: %.80q:\n got %q\nwant %q", n+1, line.Group, line.Args, got, want)
		}
	}
	t.Logf("%d of %d replies replayed", replayed, n/2)
	if replayed < 450 || lines.Err() != nil {
		t.Fatalf("replayed %d lines, %v", replayed, lines.Err())
	}
}

// sameNumbers reports whether two replies differ in the digits of numbers only,
// and those mean the same float64: how to write one is the server's.
func sameNumbers(a, b string) bool {
	x, y := strings.Split(a, "\r\n"), strings.Split(b, "\r\n")
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] == y[i] || strings.HasPrefix(x[i], "$") && strings.HasPrefix(y[i], "$") {
			continue
		}
		v, err1 := strconv.ParseFloat(x[i], 64)
		w, err2 := strconv.ParseFloat(y[i], 64)
		if err1 != nil || err2 != nil || math.Float64bits(v) != math.Float64bits(w) {
			return false
		}
	}
	return true
}

// sketches is as much of a server as the recordings of sketches need.
type sketches struct {
	t  *testing.T
	cm map[string]*redisbloom.CountMin
	tk map[string]*redisbloom.TopK
	td map[string]*redisbloom.TDigest
}

// do returns the reply to a command, and whether there is one here.
func (r *sketches) do(args []string, want string) (reply string, ok bool) {
	name := strings.ToUpper(args[0])
	if name == "FLUSHALL" {
		r.cm, r.tk, r.td = map[string]*redisbloom.CountMin{}, map[string]*redisbloom.TopK{}, map[string]*redisbloom.TDigest{}
		return "+OK\r\n", true
	}
	if len(args) < 2 || strings.HasPrefix(want, "-WRONGTYPE") || strings.HasPrefix(want, "-ERR wrong number") || strings.Contains(want, "QUEUED") || strings.Contains(want, "already exists") {
		return "", false
	}
	key, words := args[1], args[2:]
	switch {
	case name == "DUMP" && r.dump(key) != "":
		return r.dump(key), true
	case name == "RESTORE":
		return r.restore(key, words[1]), true
	case name == "RENAME", name == "DEL", name == "UNLINK":
		rename(r.cm, key, words)
		rename(r.tk, key, words)
		rename(r.td, key, words)
		return "", false
	case strings.HasPrefix(name, "CMS."):
		return r.countMin(name[4:], key, words)
	case strings.HasPrefix(name, "TOPK."):
		return r.topK(name[5:], key, words)
	case strings.HasPrefix(name, "TDIGEST."):
		return r.digest(name[8:], key, words)
	}
	return "", false
}

func rename[V any](m map[string]V, key string, words []string) {
	if v, ok := m[key]; ok {
		delete(m, key)
		if len(words) > 0 {
			m[words[0]] = v
		}
	}
}

func integers(words []string) (ns []int64, ok bool) {
	for _, w := range words {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil || strconv.FormatInt(n, 10) != w {
			return nil, false
		}
		ns = append(ns, n)
	}
	return ns, true
}

func floats(words []string) (vs []float64, ok bool) {
	for _, w := range words {
		v, err := strconv.ParseFloat(w, 64)
		if err != nil || v != v || strings.TrimSpace(w) != w {
			return nil, false
		}
		vs = append(vs, v)
	}
	return vs, true
}

func signed(n int64) string { return fmt.Sprintf(":%d\r\n", n) }

func double(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	switch {
	case v != v:
		s = "nan"
	case math.IsInf(v, 0):
		s = strings.ToLower(strings.TrimPrefix(s, "+"))
	}
	return bulk(s)
}

func doubles(vs []float64, answer func(float64) float64) string {
	var replies []string
	for _, v := range vs {
		replies = append(replies, double(answer(v)))
	}
	return array(replies)
}

func (r *sketches) countMin(cmd, key string, words []string) (reply string, ok bool) {
	c := r.cm[key]
	if strings.HasPrefix(cmd, "INIT") && c == nil && len(words) == 2 {
		var p redisbloom.CountMinParams
		if ns, ok := integers(words); ok && cmd == "INITBYDIM" && min(ns[0], ns[1]) > 0 {
			p.Width, p.Depth = uint64(ns[0]), uint64(ns[1])
			if p.Width > math.MaxInt64/p.Depth {
				return "-CMS: invalid init arguments\r\n", true
			}
		} else if vs, ok := floats(words); ok && cmd == "INITBYPROB" {
			for i, v := range vs {
				if !(v > 0 && v < 1) {
					return "-CMS: invalid " + []string{"overestimation", "prob"}[i] + " value\r\n", true
				}
			}
			var err error
			if p, err = redisbloom.CountMinFor(vs[0], vs[1]); err != nil || p.Width > math.MaxInt64/p.Depth {
				return "-CMS: invalid init arguments\r\n", true
			}
		} else {
			return "", false
		}
		c, err := redisbloom.NewCountMin(p)
		if errors.Is(err, bloomery.ErrTooLarge) {
			return "-CMS: Insufficient memory to create the key\r\n", true
		}
		r.cm[key] = c
		return "+OK\r\n", true
	}
	if c == nil {
		return "", false
	}
	var replies []string
	switch cmd {
	case "INCRBY":
		for i := 0; i+1 < len(words); i += 2 {
			if n, ok := integers(words[i+1 : i+2]); !ok || n[0] < 0 {
				return "", false
			}
		}
		for i := 0; i+1 < len(words); i += 2 {
			n, _ := strconv.ParseUint(words[i+1], 10, 64)
			v := c.Incr([]byte(words[i]), n)
			if v == math.MaxUint32 {
				replies = append(replies, "-CMS: INCRBY overflow\r\n")
				continue
			}
			replies = append(replies, integer(uint64(v)))
		}
		return array(replies), true
	case "QUERY":
		for _, w := range words {
			replies = append(replies, integer(uint64(c.Count([]byte(w)))))
		}
		return array(replies), true
	case "INFO":
		return fields([]string{"width", "depth", "count"}, []string{
			integer(c.Width()), integer(c.Depth()), signed(int64(c.Total())),
		}), true
	case "MERGE":
		return r.countMinMerge(c, words)
	}
	return "", false
}

func (r *sketches) countMinMerge(c *redisbloom.CountMin, words []string) (reply string, ok bool) {
	n, ok := integers(words[:1])
	if !ok || n[0] < 1 || int(n[0]) >= len(words) {
		return "", false
	}
	keys, rest := words[1:1+n[0]], words[1+n[0]:]
	if slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, "weights") }) {
		return "", false // the server takes it for the word
	}
	var weights []int64
	if len(rest) > 0 {
		if weights, ok = integers(rest[1:]); !ok || !strings.EqualFold(rest[0], "weights") || len(weights) != len(keys) {
			return "", false
		}
	}
	var sources []*redisbloom.CountMin
	for _, k := range keys {
		if r.cm[k] == nil {
			return "", false
		}
		sources = append(sources, r.cm[k])
	}
	switch err := c.Merge(sources, weights); {
	case errors.Is(err, bloomery.ErrIncompatible):
		return "-CMS: width/depth is not equal\r\n", true
	case errors.Is(err, redisbloom.ErrOverflow):
		return "-CMS: MERGE overflow\r\n", true
	case err != nil:
		r.t.Error(err)
	}
	return "+OK\r\n", true
}

// cut cuts an item as RedisBloom does before it shows it.
func cut(item []byte) string {
	if item == nil {
		return "$-1\r\n"
	}
	s, _, _ := strings.Cut(string(item), "\x00")
	return bulk(s)
}

func (r *sketches) topK(cmd, key string, words []string) (reply string, ok bool) {
	k := r.tk[key]
	if cmd == "RESERVE" && k == nil {
		p := redisbloom.TopKParams{Width: 8, Depth: 7, Decay: 0.9}
		n, ok := integers(words[:1])
		if ok && len(words) == 4 {
			var more []int64
			more, ok = integers(words[1:3])
			n = append(n, more...)
		}
		for i := range n {
			if ok = ok && n[i] > 0 && n[i] <= math.MaxUint32; ok {
				*[]*uint32{&p.K, &p.Width, &p.Depth}[i] = uint32(n[i])
			}
		}
		if !ok {
			return "", false
		}
		if len(words) == 4 {
			v, ok := floats(words[3:])
			if !ok {
				return "", false
			}
			p.Decay = v[0]
		}
		k, err := redisbloom.NewTopK(p)
		switch {
		case errors.Is(err, bloomery.ErrTooLarge):
			return "-ERR Insufficient memory to create topk data structure\r\n", true
		case err != nil:
			return "-TopK: invalid decay value. must be '<= 1' & '> 0'\r\n", true
		}
		r.tk[key] = k
		return "+OK\r\n", true
	}
	if k == nil {
		return "", false
	}
	var replies []string
	switch cmd {
	case "ADD":
		for _, w := range words {
			expelled, _ := k.Add([]byte(w))
			replies = append(replies, cut(expelled))
		}
		return array(replies), true
	case "INCRBY":
		for i := 0; i+1 < len(words); i += 2 {
			n, ok := integers(words[i+1 : i+2])
			if !ok {
				n = []int64{-1}
			}
			expelled, _, err := k.Incr([]byte(words[i]), n[0])
			if err != nil {
				replies = append(replies, "-TopK: increment must be an integer greater or equal to 0"+strings.Repeat(" ", 28)+"and smaller or equal to 100,000\r\n")
				break
			}
			replies = append(replies, cut(expelled))
		}
		return array(replies), true
	case "QUERY":
		for _, w := range words {
			replies = append(replies, boolean(k.Contains([]byte(w))))
		}
		return array(replies), true
	case "COUNT":
		for _, w := range words {
			replies = append(replies, integer(uint64(k.Count([]byte(w)))))
		}
		return array(replies), true
	case "LIST":
		if len(words) == 1 && !strings.HasPrefix("WITHCOUNT", strings.ToUpper(words[0])) {
			return "", false
		}
		for item, count := range k.All() {
			replies = append(replies, cut(item))
			if len(words) == 1 {
				replies = append(replies, integer(uint64(count)))
			}
		}
		return array(replies), true
	case "INFO":
		return fields([]string{"k", "width", "depth", "decay"}, []string{
			integer(uint64(k.K())), integer(uint64(k.Width())), integer(uint64(k.Depth())), double(k.Decay()),
		}), true
	}
	return "", false
}

func (r *sketches) digest(cmd, key string, words []string) (reply string, ok bool) {
	d := r.td[key]
	switch {
	case cmd == "MERGE":
		return r.digestMerge(key, words)
	case cmd == "CREATE" && d == nil:
		compression := int64(100)
		if len(words) == 2 {
			n, ok := integers(words[1:])
			if !ok || n[0] < 1 || !strings.EqualFold(words[0], "compression") {
				return "", false
			}
			compression = n[0]
		}
		d, err := redisbloom.NewTDigest(redisbloom.TDigestParams{Compression: compression})
		if errors.Is(err, bloomery.ErrTooLarge) {
			return "-ERR T-Digest: allocation failed\r\n", true
		}
		r.td[key] = d
		return "+OK\r\n", true
	case d == nil:
		return "", false
	}
	switch cmd {
	case "RESET":
		d.Reset()
		return "+OK\r\n", true
	case "MIN":
		return double(d.Min()), true
	case "MAX":
		return double(d.Max()), true
	case "INFO":
		s := d.Stats()
		return fields([]string{
			"Compression", "Capacity", "Merged nodes", "Unmerged nodes", "Merged weight", "Unmerged weight",
			"Observations", "Total compressions", "Memory usage",
		}, []string{
			signed(s.Compression), signed(int64(s.Capacity)), signed(int64(s.MergedNodes)), signed(int64(s.UnmergedNodes)), signed(s.MergedWeight), signed(s.UnmergedWeight),
			signed(d.Observations()), signed(s.Compressions), integer(d.Size()),
		}), true
	case "BYRANK", "BYREVRANK":
		ranks, ok := integers(words)
		if !ok || slices.Min(ranks) < 0 {
			return "", false
		}
		var replies []string
		for _, rank := range ranks {
			v := d.ByRank
			if cmd == "BYREVRANK" {
				v = d.ByRevRank
			}
			replies = append(replies, double(v(rank)))
		}
		return array(replies), true
	}
	vs, ok := floats(words)
	if !ok {
		return "", false
	}
	switch cmd {
	case "ADD":
		if err := d.Add(vs...); err != nil {
			return "-ERR T-Digest: val parameter needs to be a finite number\r\n", true
		}
		return "+OK\r\n", true
	case "QUANTILE":
		if slices.Min(vs) < 0 || slices.Max(vs) > 1 {
			return "", false
		}
		return doubles(vs, d.Quantile), true
	case "CDF":
		return doubles(vs, d.CDF), true
	case "RANK", "REVRANK":
		var replies []string
		for _, v := range vs {
			rank := d.Rank
			if cmd == "REVRANK" {
				rank = d.RevRank
			}
			replies = append(replies, signed(rank(v)))
		}
		return array(replies), true
	case "TRIMMED_MEAN":
		if min(vs[0], vs[1]) < 0 || max(vs[0], vs[1]) > 1 || vs[0] >= vs[1] {
			return "", false
		}
		return double(d.TrimmedMean(vs[0], vs[1])), true
	}
	return "", false
}

func (r *sketches) digestMerge(key string, words []string) (reply string, ok bool) {
	n, ok := integers(words[:1])
	if !ok || n[0] < 1 || int(n[0]) >= len(words) {
		return "", false
	}
	keys, rest := words[1:1+n[0]], words[1+n[0]:]
	override, compression := false, int64(0)
	for i, w := range rest {
		switch {
		case strings.EqualFold(w, "override"):
			override = true
		case strings.EqualFold(w, "compression"):
			c, ok := integers(rest[i+1 : min(i+2, len(rest))])
			if !ok || len(c) == 0 || c[0] < 1 {
				return "", false
			}
			compression = c[0]
		}
	}
	if len(rest) > 0 && !override && compression == 0 {
		return "", false
	}
	var sources []*redisbloom.TDigest
	most := int64(0)
	for _, k := range keys {
		if r.td[k] == nil {
			return "", false
		}
		sources = append(sources, r.td[k])
		most = max(most, r.td[k].Stats().Compression)
	}
	if old := r.td[key]; old != nil && !override {
		most = old.Stats().Compression
		sources = append([]*redisbloom.TDigest{old}, sources...)
	}
	if compression > 0 {
		most = compression
	}
	d, err := redisbloom.NewTDigest(redisbloom.TDigestParams{Compression: most})
	if err != nil {
		return "-ERR T-Digest: allocation of destination digest failed\r\n", true
	}
	for _, s := range sources {
		if err := d.Merge(s); err != nil {
			r.t.Error(err)
		}
	}
	r.td[key] = d
	return "+OK\r\n", true
}
