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

	"github.com/bloomery/bloomery/internal/redisbloom"
)

// TestRecorded replays replies that a RedisBloom server sent: every dump, every
// figure of INFO and DEBUG, every answer.
func TestRecorded(t *testing.T) {
	file, err := os.Open("testdata/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	server := &replayer{t: t}
	lines := bufio.NewScanner(file)
	n := 0
	for ; lines.Scan(); n++ {
		var line struct {
			Args  []latin1
			Reply latin1
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if got := server.do(line.Args); got != string(line.Reply) {
			t.Errorf("line %d: %.80q:\n got %q\nwant %q", n+1, line.Args, got, line.Reply)
		}
	}
	if n < 100 || lines.Err() != nil {
		t.Fatalf("replayed %d lines, %v", n, lines.Err())
	}
}

// latin1 is a string of bytes that JSON holds as one code point each.
type latin1 string

func (s *latin1) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	var b []byte
	for _, r := range text {
		b = append(b, byte(r))
	}
	*s = latin1(b)
	return nil
}

// replayer is as much of a server as the recording needs.
type replayer struct {
	t  *testing.T
	bf map[string]*redisbloom.Bloom
	cf map[string]*redisbloom.Cuckoo
}

func (r *replayer) do(args []latin1) string {
	if args[0] == "FLUSHALL" {
		r.bf, r.cf = map[string]*redisbloom.Bloom{}, map[string]*redisbloom.Cuckoo{}
		return "+OK\r\n"
	}
	words := make([]string, len(args)-2)
	for i := range words {
		words[i] = string(args[i+2])
	}
	if args[0][0] == 'B' {
		return r.bloom(string(args[0]), string(args[1]), words)
	}
	return r.cuckoo(string(args[0]), string(args[1]), words)
}

// option returns the number after a word, or other.
func option(words []string, name string, other float64) float64 {
	i := slices.Index(words, name)
	if i < 0 {
		return other
	}
	v, err := strconv.ParseFloat(words[i+1], 64)
	if err != nil {
		return other
	}
	return v
}

func (r *replayer) bloom(cmd, key string, words []string) string {
	b := r.bf[key]
	switch cmd {
	case "BF.RESERVE":
		e, _ := strconv.ParseFloat(words[0], 64)
		n, _ := strconv.ParseUint(words[1], 10, 64)
		r.bf[key] = newBloom(r.t, redisbloom.BloomParams{
			ErrorRate: e, Capacity: n,
			Expansion:  uint32(option(words, "EXPANSION", 2)),
			NonScaling: slices.Contains(words, "NONSCALING"),
		})
		return "+OK\r\n"
	case "BF.ADD", "BF.MADD", "BF.INSERT":
		if b == nil {
			b = newBloom(r.t, redisbloom.BloomParams{
				ErrorRate:  option(words, "ERROR", 0.01),
				Capacity:   uint64(option(words, "CAPACITY", 100)),
				Expansion:  uint32(option(words, "EXPANSION", 2)),
				NonScaling: slices.Contains(words, "NONSCALING"),
			})
			r.bf[key] = b
		}
		replies := r.addAll(b, words[slices.Index(words, "ITEMS")+1:])
		if cmd == "BF.ADD" {
			return replies[0]
		}
		return array(replies)
	case "BF.EXISTS", "BF.MEXISTS":
		var replies []string
		for _, w := range words {
			replies = append(replies, boolean(b.Contains([]byte(w))))
		}
		if cmd == "BF.EXISTS" {
			return replies[0]
		}
		return array(replies)
	case "BF.CARD":
		return integer(b.Items())
	case "BF.INFO":
		expansion := "$-1\r\n"
		if !b.NonScaling() {
			expansion = integer(uint64(b.Expansion()))
		}
		values := []string{integer(b.Capacity()), integer(b.Size()), integer(uint64(b.Layers())), integer(b.Items()), expansion}
		if len(words) == 1 {
			return array(values[slices.Index([]string{"CAPACITY", "SIZE", "FILTERS", "ITEMS", "EXPANSION"}, words[0]):][:1])
		}
		return fields([]string{"Capacity", "Size", "Number of filters", "Number of items inserted", "Expansion rate"}, values)
	case "BF.DEBUG":
		lines := []string{bulk(fmt.Sprintf("size:%d", b.Items()))}
		for i := range b.Layers() {
			l := b.Layer(i)
			lines = append(lines, bulk(fmt.Sprintf("bytes:%d bits:%d hashes:%d hashwidth:%d capacity:%d size:%d ratio:%g",
				l.Bytes, l.Bits, l.Hashes, l.HashWidth, l.Capacity, l.Size, l.ErrorRate)))
		}
		return array(lines)
	case "BF.SCANDUMP":
		iter, _ := strconv.ParseInt(words[0], 10, 64)
		next, data := b.ScanDump(iter)
		return array([]string{integer(uint64(next)), bulk(string(data))})
	case "BF.LOADCHUNK":
		return r.bloomLoad(key, words)
	}
	r.t.Fatalf("unknown command %q", cmd)
	return ""
}

func (r *replayer) addAll(b *redisbloom.Bloom, items []string) (replies []string) {
	dst, ds := make([]bool, len(items)), make([]redisbloom.Digest, len(items))
	for i, it := range items {
		ds[i] = b.Digest([]byte(it))
	}
	n, err := b.AddDigests(dst, ds, math.MaxUint64)
	for _, added := range dst[:n] {
		replies = append(replies, boolean(added))
	}
	if errors.Is(err, redisbloom.ErrFull) {
		replies = append(replies, "-ERR non scaling filter is full\r\n")
	}
	return replies
}

func (r *replayer) bloomLoad(key string, words []string) string {
	iter, _ := strconv.ParseInt(words[0], 10, 64)
	b := r.bf[key]
	if b == nil && iter == 1 {
		h, err := redisbloom.ParseBloomHeader([]byte(words[1]))
		if err != nil {
			return "-ERR received bad data\r\n"
		}
		r.bf[key] = newFromHeader(r.t, h)
		return "+OK\r\n"
	}
	switch err := b.LoadChunk(iter, []byte(words[1])); {
	case errors.Is(err, redisbloom.ErrChunkPosition):
		return "-ERR received bad data\r\n"
	case errors.Is(err, redisbloom.ErrChunkOffset):
		return "-ERR invalid offset - no link found\r\n"
	case errors.Is(err, redisbloom.ErrChunkLength):
		return "-ERR invalid chunk - Too big for current filter\r\n"
	}
	return "+OK\r\n"
}

func (r *replayer) cuckoo(cmd, key string, words []string) string {
	c := r.cf[key]
	switch cmd {
	case "CF.RESERVE":
		if c != nil {
			return "-ERR item exists\r\n"
		}
		n, _ := strconv.ParseUint(words[0], 10, 64)
		r.cf[key] = newCuckoo(r.t, redisbloom.CuckooParams{
			Capacity:      n,
			BucketSize:    uint16(option(words, "BUCKETSIZE", 2)),
			MaxIterations: uint16(option(words, "MAXITERATIONS", 20)),
			Expansion:     uint16(option(words, "EXPANSION", 1)),
		})
		return "+OK\r\n"
	case "CF.ADD", "CF.ADDNX", "CF.INSERT", "CF.INSERTNX":
		return r.insertAll(cmd, key, words)
	case "CF.EXISTS", "CF.MEXISTS":
		var replies []string
		for _, w := range words {
			replies = append(replies, boolean(c.Contains([]byte(w))))
		}
		if cmd == "CF.EXISTS" {
			return replies[0]
		}
		return array(replies)
	case "CF.COUNT":
		if c == nil {
			return integer(0)
		}
		return integer(c.CountDigest(redisbloom.CuckooDigest([]byte(words[0]))))
	case "CF.DEL":
		return boolean(c.DeleteDigest(redisbloom.CuckooDigest([]byte(words[0]))))
	case "CF.COMPACT":
		c.Compact()
		return "+OK\r\n"
	case "CF.INFO":
		return fields([]string{
			"Size", "Number of buckets", "Number of filters", "Number of items inserted",
			"Number of items deleted", "Bucket size", "Expansion rate", "Max iterations",
		}, []string{
			integer(c.Size()), integer(c.Buckets()), integer(uint64(c.Filters())), integer(c.Items()),
			integer(c.Deletes()), integer(uint64(c.BucketSize())), integer(uint64(c.Expansion())), integer(uint64(c.MaxIterations())),
		})
	case "CF.DEBUG":
		return bulk(fmt.Sprintf("bktsize:%d buckets:%d items:%d deletes:%d filters:%d max_iterations:%d expansion:%d",
			c.BucketSize(), c.Buckets(), c.Items(), c.Deletes(), c.Filters(), c.MaxIterations(), c.Expansion()))
	case "CF.SCANDUMP":
		iter, _ := strconv.ParseInt(words[0], 10, 64)
		next, data, err := c.ScanDump(iter)
		if err != nil {
			return "-Invalid position\r\n"
		}
		if data == nil {
			return array([]string{integer(uint64(next)), "$-1\r\n"})
		}
		return array([]string{integer(uint64(next)), bulk(string(data))})
	case "CF.LOADCHUNK":
		return r.cuckooLoad(key, words)
	}
	r.t.Fatalf("unknown command %q", cmd)
	return ""
}

func (r *replayer) insertAll(cmd, key string, words []string) string {
	c := r.cf[key]
	if c == nil {
		c = newCuckoo(r.t, redisbloom.CuckooParams{
			Capacity: uint64(option(words, "CAPACITY", 1024)), BucketSize: 2, MaxIterations: 20, Expansion: 1,
		})
		r.cf[key] = c
	}
	if c.Filters() >= 32 {
		return "-Maximum expansions reached\r\n"
	}
	items := words[slices.Index(words, "ITEMS")+1:]
	dst, hs := make([]int8, len(items)), make([]uint64, len(items))
	for i, it := range items {
		hs[i] = redisbloom.CuckooDigest([]byte(it))
	}
	insert := c.InsertDigests
	if strings.HasSuffix(cmd, "NX") {
		insert = c.InsertNXDigests
	}
	if _, err := insert(dst, hs, math.MaxUint64); err != nil {
		r.t.Errorf("%s: %v", cmd, err)
	}
	var replies []string
	for _, v := range dst {
		replies = append(replies, fmt.Sprintf(":%d\r\n", v))
	}
	if strings.HasPrefix(cmd, "CF.ADD") {
		return replies[0]
	}
	return array(replies)
}

func (r *replayer) cuckooLoad(key string, words []string) string {
	iter, _ := strconv.ParseInt(words[0], 10, 64)
	c := r.cf[key]
	if iter == 1 {
		if c != nil {
			return "-ERR item exists\r\n"
		}
		h, err := redisbloom.ParseCuckooHeader([]byte(words[1]))
		switch {
		case errors.Is(err, redisbloom.ErrHeaderLength):
			return "-Invalid header\r\n"
		case err != nil:
			return "-Couldn't create filter!\r\n"
		}
		r.cf[key] = newFromHeader(r.t, h)
		return "+OK\r\n"
	}
	if err := c.LoadChunk(iter, []byte(words[1])); err != nil {
		return "-Couldn't load chunk!\r\n"
	}
	return "+OK\r\n"
}

func integer(n uint64) string { return fmt.Sprintf(":%d\r\n", n) }
func bulk(s string) string    { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

func boolean(v bool) string {
	if v {
		return ":1\r\n"
	}
	return ":0\r\n"
}

func array(elements []string) string {
	return fmt.Sprintf("*%d\r\n%s", len(elements), strings.Join(elements, ""))
}

func fields(names, values []string) string {
	var flat []string
	for i := range names {
		flat = append(flat, "+"+names[i]+"\r\n", values[i])
	}
	return array(flat)
}
