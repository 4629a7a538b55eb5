package command_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/store"
)

// sketchScripts are scripts as those of TestScripts: arguments, limits and mistakes, with
// the replies of RedisBloom.
var sketchScripts = map[string]string{
	"CMS": `
		CMS.INITBYDIM m 1 1 -> +OK
		CMS.INITBYDIM m 0 1 -> -CMS: key already exists
		CMS.INITBYDIM x 0 1 -> -CMS: invalid width
		CMS.INITBYDIM x w 1 -> -CMS: invalid width
		CMS.INITBYDIM x 1 0 -> -CMS: invalid depth
		CMS.INITBYDIM x 1 d -> -CMS: invalid depth
		CMS.INITBYDIM x 9223372036854775807 2 -> -CMS: invalid init arguments
		CMS.INITBYDIM x 4611686018427387904 1 -> -CMS: Insufficient memory to create the key
		CMS.INITBYDIM x 3000000000 3000000000 -> -CMS: Insufficient memory to create the key
		CMS.INITBYDIM x 1000000000 1 -> -CMS: Insufficient memory to create the key
		CMS.INITBYPROB x 0 0.5 -> -CMS: invalid overestimation value
		CMS.INITBYPROB x 1 0.5 -> -CMS: invalid overestimation value
		CMS.INITBYPROB x r 0.5 -> -CMS: invalid overestimation value
		CMS.INITBYPROB x -0.1 0.5 -> -CMS: invalid overestimation value
		CMS.INITBYPROB x 0.5 0 -> -CMS: invalid prob value
		CMS.INITBYPROB x 0.5 1 -> -CMS: invalid prob value
		CMS.INITBYPROB x 0.5 p -> -CMS: invalid prob value
		EXISTS x -> :0
		CMS.INITBYPROB p 0.01 0.001 -> +OK
		CMS.INFO p -> [+width :200 +depth :10 +count :0]
		CMS.INITBYPROB q 0.999 0.999 -> +OK
		CMS.INFO q -> [+width :3 +depth :1 +count :0]
		CMS.INFO none -> -CMS: key does not exist
		CMS.INFO -> -ERR wrong number of arguments for 'cms.info' command
		CMS.INFO p q -> -ERR wrong number of arguments for 'cms.info' command
		CMS.QUERY p -> -ERR wrong number of arguments for 'cms.query' command
		CMS.INCRBY p a 2 b 3 -> [:2 :3]
		CMS.INCRBY p a x -> -CMS: Cannot parse number
		CMS.INCRBY p a -1 -> -CMS: Number cannot be negative
		CMS.INCRBY p a -> -ERR wrong number of arguments for 'cms.incrby' command
		CMS.QUERY p a b c -> [:2 :3 :0]
		CMS.INFO p -> [+width :200 +depth :10 +count :5]
		CMS.INITBYDIM a 10 2 -> +OK
		CMS.INITBYDIM b 10 2 -> +OK
		CMS.INITBYDIM wide 11 2 -> +OK
		CMS.INITBYDIM deep 10 3 -> +OK
		CMS.INITBYDIM to 10 2 -> +OK
		CMS.INCRBY a x 2 -> [:2]
		CMS.INCRBY b x 3 -> [:3]
		CMS.MERGE to 1 wide -> -CMS: width/depth is not equal
		CMS.MERGE to 1 deep -> -CMS: width/depth is not equal
		CMS.MERGE to x a -> -CMS: invalid numkeys
		CMS.MERGE to 0 a -> -CMS: Number of keys must be positive
		CMS.MERGE to -1 a -> -CMS: Number of keys must be positive
		CMS.MERGE to 2 a -> -CMS: wrong number of keys
		CMS.MERGE to 1 a b -> -CMS: wrong number of keys
		CMS.MERGE to 2 a b WEIGHTS 1 -> -CMS: wrong number of keys/weights
		CMS.MERGE to 2 a b WEIGHTS 1 2 3 -> -CMS: wrong number of keys/weights
		CMS.MERGE to 2 a WEIGHTS 1 -> -CMS: wrong number of keys/weights
		CMS.MERGE to 1 WEIGHTS -> -CMS: wrong number of keys/weights
		CMS.MERGE to 1 WEIGHTS a 1 -> -CMS: wrong number of keys/weights
		CMS.MERGE to 2 a b WEIGHTS 1 x -> -CMS: invalid weight value
		CMS.MERGE none 1 a -> -CMS: key does not exist
		CMS.MERGE to 2 a none -> -CMS: key does not exist
		CMS.INFO to -> [+width :10 +depth :2 +count :0]
		COMMAND GETKEYS CMS.MERGE to 2 a b WEIGHTS 1 2 -> ["to"]
		CMS.MERGE to 2 a b -> +OK
		CMS.QUERY to x -> [:5]
		CMS.MERGE to 2 a b weights 4 5 -> +OK
		CMS.QUERY to x -> [:23]
		CMS.MERGE to 1 a -> +OK
		CMS.QUERY to x -> [:2]
		CMS.INFO to -> [+width :10 +depth :2 +count :2]
		SET s v -> +OK
		CMS.MERGE to 1 s -> -WRONGTYPE Operation against a key holding the wrong kind of value
		CMS.MERGE s 1 a -> -WRONGTYPE Operation against a key holding the wrong kind of value
		CMS.INITBYDIM s 1 1 -> -CMS: key already exists
		COMMAND INFO cms.query -> [["cms.query" :-3 [+readonly +module] :1 :1 :1 [+@read +@cms] [] [["flags" [+RO] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]`,
	"TOPK": `
		TOPK.RESERVE k 0 -> -TopK: invalid k
		TOPK.RESERVE k x -> -TopK: invalid k
		TOPK.RESERVE k 4294967296 -> -TopK: invalid k
		TOPK.RESERVE k 1 0 1 0.5 -> -TopK: invalid width
		TOPK.RESERVE k 1 x 1 0.5 -> -TopK: invalid width
		TOPK.RESERVE k 1 1 0 0.5 -> -TopK: invalid depth
		TOPK.RESERVE k 1 1 x 0.5 -> -TopK: invalid depth
		TOPK.RESERVE k 1 1 1 0 -> -TopK: invalid decay value. must be '<= 1' & '> 0'
		TOPK.RESERVE k 1 1 1 1.1 -> -TopK: invalid decay value. must be '<= 1' & '> 0'
		TOPK.RESERVE k 1 1 1 x -> -TopK: invalid decay value. must be '<= 1' & '> 0'
		TOPK.RESERVE k 1 1 -> -ERR wrong number of arguments for 'topk.reserve' command
		TOPK.RESERVE k 1 1 1 -> -ERR wrong number of arguments for 'topk.reserve' command
		TOPK.RESERVE k 1 1 1 1 1 -> -ERR wrong number of arguments for 'topk.reserve' command
		TOPK.RESERVE k 4294967295 4294967295 4294967295 1 -> -ERR Insufficient memory to create topk data structure
		TOPK.RESERVE k 100000000 -> -ERR Insufficient memory to create topk data structure
		EXISTS k -> :0
		TOPK.RESERVE k 1 1 1 1 -> +OK
		TOPK.RESERVE k 1 -> -TopK: key already exists
		TOPK.INFO k -> [+k :1 +width :1 +depth :1 +decay 1]
		TOPK.RESERVE d 3 -> +OK
		TOPK.INFO d -> [+k :3 +width :8 +depth :7 +decay 0.9]
		TOPK.INFO none -> -TopK: key does not exist
		TOPK.LIST d -> []
		TOPK.ADD none a -> -TopK: key does not exist
		TOPK.ADD d -> -ERR wrong number of arguments for 'topk.add' command
		TOPK.ADD d a a b -> [nil nil nil]
		TOPK.INCRBY d c 0 c 100000 -> [nil nil]
		TOPK.INCRBY d c -> -ERR wrong number of arguments for 'topk.incrby' command
		TOPK.INCRBY d c 1 a -> -ERR wrong number of arguments for 'topk.incrby' command
		TOPK.INCRBY d c -1 -> [-TopK: increment must be an integer greater or equal to 0                            and smaller or equal to 100,000]
		TOPK.INCRBY none c x -> -TopK: key does not exist
		TOPK.COUNT d a b c none -> [:2 :1 :100000 :0]
		TOPK.QUERY d a none c -> [:1 :0 :1]
		TOPK.QUERY none a -> -TopK: key does not exist
		TOPK.LIST d -> ["c" "a" "b"]
		TOPK.LIST d WITHCOUNT -> ["c" :100000 "a" :2 "b" :1]
		TOPK.LIST d withcounts -> -WITHCOUNT keyword expected
		TOPK.LIST d WITHCOUNT x -> -ERR wrong number of arguments for 'topk.list' command
		TOPK.INCRBY d e 50 -> ["b"]
		TOPK.LIST d -> ["c" "e" "a"]
		SET s v -> +OK
		TOPK.ADD s a -> -WRONGTYPE Operation against a key holding the wrong kind of value
		TOPK.RESERVE s 1 -> -TopK: key already exists`,
	"TDIGEST": `
		TDIGEST.CREATE d COMPRESSION 0 -> -ERR T-Digest: compression parameter needs to be a positive integer
		TDIGEST.CREATE d COMPRESSION x -> -ERR T-Digest: error parsing compression parameter
		TDIGEST.CREATE d soon 10 -> -ERR T-Digest: wrong keyword
		TDIGEST.CREATE d 10 -> -ERR wrong number of arguments for 'tdigest.create' command
		TDIGEST.CREATE d COMPRESSION 9223372036854775807 -> -ERR T-Digest: allocation failed
		TDIGEST.CREATE d COMPRESSION 100000000 -> -ERR T-Digest: allocation failed
		EXISTS d -> :0
		TDIGEST.CREATE one COMPRESSION 1 -> +OK
		TDIGEST.CREATE d -> +OK
		TDIGEST.CREATE d -> -ERR T-Digest: key already exists
		TDIGEST.INFO d -> [+Compression :100 +Capacity :610 +Merged nodes :0 +Unmerged nodes :0 +Merged weight :0 +Unmerged weight :0 +Observations :0 +Total compressions :0 +Memory usage :9840]
		TDIGEST.INFO none -> -ERR T-Digest: key does not exist
		TDIGEST.MIN d -> NaN
		TDIGEST.MAX d -> NaN
		TDIGEST.RANK d 1 -> [:-2]
		TDIGEST.BYRANK d 0 -> [NaN]
		TDIGEST.ADD none 1 -> -ERR T-Digest: key does not exist
		TDIGEST.ADD d x -> -ERR T-Digest: error parsing val parameter
		TDIGEST.ADD d 1 -inf -> -ERR T-Digest: val parameter needs to be a finite number
		TDIGEST.ADD d 1 2 2 3 4 -> +OK
		TDIGEST.MIN d -> 1
		TDIGEST.MAX d -> 4
		TDIGEST.RANK d 0 1 2 3 4 5 -> [:-1 :0 :2 :3 :4 :5]
		TDIGEST.REVRANK d 0 1 2 3 4 5 -> [:5 :4 :3 :1 :0 :-1]
		TDIGEST.RANK d x -> -ERR T-Digest: error parsing value
		TDIGEST.REVRANK d 1 x -> -ERR T-Digest: error parsing value
		TDIGEST.BYRANK d 0 1 2 3 4 5 6 -> [1 2 2 3 4 +Inf +Inf]
		TDIGEST.BYREVRANK d 0 1 2 3 4 5 -> [4 3 2 2 1 -Inf]
		TDIGEST.BYRANK d x -> -ERR T-Digest: error parsing rank
		TDIGEST.BYRANK d -1 -> -ERR T-Digest: rank needs to be non negative
		TDIGEST.BYREVRANK d -1 -> -ERR T-Digest: rank needs to be non negative
		TDIGEST.CDF d 0 1 2 4 5 -> [0 0.1 0.4 0.9 1]
		TDIGEST.CDF d x -> -ERR T-Digest: error parsing cdf
		TDIGEST.CDF none 1 -> -ERR T-Digest: key does not exist
		TDIGEST.QUANTILE d 0 0.5 1 -> [1 2 4]
		TDIGEST.QUANTILE d -0.1 -> -ERR T-Digest: quantile should be in [0,1]
		TDIGEST.QUANTILE d 1.1 -> -ERR T-Digest: quantile should be in [0,1]
		TDIGEST.QUANTILE d x -> -ERR T-Digest: error parsing quantile
		TDIGEST.TRIMMED_MEAN d 0 1 -> 2.4
		TDIGEST.TRIMMED_MEAN d 0.2 0.8 -> 2.3333333333333335
		TDIGEST.TRIMMED_MEAN d x 1 -> -ERR T-Digest: error parsing low_cut_percentile
		TDIGEST.TRIMMED_MEAN d 0 x -> -ERR T-Digest: error parsing high_cut_percentile
		TDIGEST.TRIMMED_MEAN d -0.1 1 -> -ERR T-Digest: low_cut_percentile and high_cut_percentile should be in [0,1]
		TDIGEST.TRIMMED_MEAN d 1.1 1 -> -ERR T-Digest: low_cut_percentile and high_cut_percentile should be in [0,1]
		TDIGEST.TRIMMED_MEAN d 0 1.1 -> -ERR T-Digest: low_cut_percentile and high_cut_percentile should be in [0,1]
		TDIGEST.TRIMMED_MEAN d 0.5 -0.1 -> -ERR T-Digest: low_cut_percentile and high_cut_percentile should be in [0,1]
		TDIGEST.TRIMMED_MEAN d 0.5 0.5 -> -ERR T-Digest: low_cut_percentile should be lower than high_cut_percentile
		TDIGEST.TRIMMED_MEAN none 0 1 -> -ERR T-Digest: key does not exist
		TDIGEST.INFO d -> [+Compression :100 +Capacity :610 +Merged nodes :5 +Unmerged nodes :0 +Merged weight :5 +Unmerged weight :0 +Observations :5 +Total compressions :1 +Memory usage :9840]
		TDIGEST.CREATE e COMPRESSION 50 -> +OK
		TDIGEST.ADD e 10 20 -> +OK
		TDIGEST.MERGE to x d e -> -ERR T-Digest: error parsing numkeys
		TDIGEST.MERGE to 0 d -> -ERR T-Digest: numkeys needs to be a positive integer
		TDIGEST.MERGE to 2 d -> -ERR wrong number of arguments for 'tdigest.merge' command
		TDIGEST.MERGE to 1 d soon -> -ERR T-Digest: wrong keyword
		TDIGEST.MERGE to 1 d COMPRESSION -> -ERR wrong number of arguments for 'tdigest.merge' command
		TDIGEST.MERGE to 1 d COMPRESSION x -> -ERR T-Digest: error parsing compression parameter
		TDIGEST.MERGE to 1 d COMPRESSION 0 -> -ERR T-Digest: compression parameter needs to be a positive integer
		TDIGEST.MERGE to 1 d COMPRESSION 9223372036854775807 -> -ERR T-Digest: allocation of destination digest failed
		EXISTS to -> :0
		TDIGEST.MERGE to 2 d e -> +OK
		TDIGEST.INFO to -> [+Compression :100 +Capacity :610 +Merged nodes :5 +Unmerged nodes :2 +Merged weight :5 +Unmerged weight :2 +Observations :7 +Total compressions :1 +Memory usage :9840]
		TDIGEST.QUANTILE to 0 1 -> [1 20]
		TDIGEST.MERGE to 1 e OVERRIDE -> +OK
		TDIGEST.QUANTILE to 0 1 -> [10 20]
		TDIGEST.MERGE to 1 d OVERRIDE COMPRESSION 7 -> +OK
		TDIGEST.INFO to -> [+Compression :7 +Capacity :52 +Merged nodes :0 +Unmerged nodes :5 +Merged weight :0 +Unmerged weight :5 +Observations :5 +Total compressions :0 +Memory usage :912]
		TDIGEST.RESET to -> +OK
		TDIGEST.MIN to -> NaN
		TDIGEST.RESET none -> -ERR T-Digest: key does not exist
		SET s v -> +OK
		TDIGEST.CREATE s -> -WRONGTYPE Operation against a key holding the wrong kind of value
		TDIGEST.ADD s 1 -> -WRONGTYPE Operation against a key holding the wrong kind of value
		TDIGEST.QUANTILE s 1 -> -WRONGTYPE Operation against a key holding the wrong kind of value
		TDIGEST.MERGE s 1 d -> -WRONGTYPE Operation against a key holding the wrong kind of value
		TDIGEST.MERGE to 1 s -> -WRONGTYPE Operation against a key holding the wrong kind of value`,
}

func TestSketchScripts(t *testing.T) {
	for name, script := range sketchScripts {
		t.Run(name, func(t *testing.T) { commandtest.New(t, 1<<30).Script(t, script) })
	}
}

// TestSketchesOfManyItems sends more values, keys and bytes than one step takes.
func TestSketchesOfManyItems(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("TDIGEST.CREATE d")
	add, quantiles, ranks := []string{"TDIGEST.ADD", "d"}, []string{"TDIGEST.QUANTILE", "d"}, []string{"TDIGEST.BYRANK", "d"}
	for i := range 600 {
		add = append(add, fmt.Sprint(i))
		quantiles, ranks = append(quantiles, "0.5"), append(ranks, "0")
	}
	b.Do(add...)
	for _, words := range [][]string{quantiles, ranks} {
		r := b.Exec(commandtest.Bytes(words))[0]
		if len(r.Elems) != 600 || commandtest.Show(r.Elems[599]) != commandtest.Show(r.Elems[0]) {
			t.Errorf("%s of 600 answers %d", words[0], len(r.Elems))
		}
	}
	const many = 3000 // more than are asked at a time
	b.Line("CMS.INITBYDIM wide 100000 2")
	b.Line("TOPK.RESERVE all 3000 50000 3 0.9")
	numbered, items := []string{}, []string{}
	for i := range many {
		numbered, items = append(numbered, fmt.Sprint(i), fmt.Sprint(i%3+1)), append(items, fmt.Sprint(i))
	}
	for _, c := range []struct {
		command   string
		args      []string
		last, all string // replies
	}{
		{"CMS.INCRBY wide", numbered, ":3", ""},
		{"CMS.QUERY wide", items, ":3", ""},
		{"TOPK.INCRBY all", numbered, "nil", ""},
		{"TOPK.ADD all", items, "nil", ""},
		{"TOPK.QUERY all", items, ":1", ""},
		{"TOPK.COUNT all", items, ":4", ""},
		{"TDIGEST.ADD d", items, "", "+OK"},
		{"TDIGEST.RANK d", items, ":3599", ""},
	} {
		r := b.Exec(commandtest.Bytes(append(strings.Fields(c.command), c.args...)))[0]
		if c.all != "" && commandtest.Show(r) != c.all || c.all == "" && (len(r.Elems) != many || commandtest.Show(r.Elems[many-1]) != c.last) {
			t.Errorf("%s of %d items answers %d, the last %.40s", c.command, many, len(r.Elems), commandtest.Show(r)[max(0, len(commandtest.Show(r))-20):])
		}
	}
	b.Line("TOPK.RESERVE k 2")
	for n, want := range map[int]string{store.MaxItem: "[nil]", store.MaxItem + 1: "-TopK: item is longer than 262144 bytes"} {
		item := strings.Repeat("x", n)
		if got := b.Do("TOPK.ADD", "k", item); got != want {
			t.Errorf("TOPK.ADD of %d bytes = %.80s", n, got)
		}
		if got := b.Do("TOPK.INCRBY", "k", item, "1"); got != want {
			t.Errorf("TOPK.INCRBY of %d bytes = %.80s", n, got)
		}
	}
	if got := b.Do("TOPK.ADD", "k", "zero\x00byte"); got != "[nil]" || !strings.Contains(b.Line("TOPK.LIST k"), `"zero"`) {
		t.Errorf("TOPK.ADD of a zero byte = %s, TOPK.LIST = %.80s", got, b.Line("TOPK.LIST k"))
	}
	b.Line("CMS.INITBYDIM m 2 2")
	name := strings.Repeat("n", 60_000)
	b.Do("CMS.INITBYDIM", name, "2", "2")
	b.Do("TDIGEST.CREATE", name+"d")
	for _, c := range []struct{ command, to, name, want string }{
		{"CMS.MERGE", "m", name, "-CMS: too many keys for one merge"},
		{"TDIGEST.MERGE", "d", name + "d", "-ERR T-Digest: too many keys for one merge"},
	} {
		for n, want := range map[int]string{14: "+OK", 16: c.want} {
			words := []string{c.command, c.to, fmt.Sprint(n)}
			for range n {
				words = append(words, c.name)
			}
			if got := b.Do(words...); got != want {
				t.Errorf("%s of %d long names = %.80s, want %s", c.command, n, got, want)
			}
		}
	}
	for _, c := range []struct{ command, to, name string }{{"CMS.MERGE", name, name}, {"TDIGEST.MERGE", name + "d", name + "d"}} {
		words := []string{c.command, c.to, "15"} // with the destination they are 16
		for range 15 {
			words = append(words, c.name)
		}
		if got := b.Do(words...); !strings.HasSuffix(got, "too many keys for one merge") {
			t.Errorf("%s of 15 long names to another = %.80s", c.command, got)
		}
	}
	small := commandtest.New(t, 60_000)
	small.Script(t, `
		TDIGEST.CREATE d COMPRESSION 10000 -> -ERR T-Digest: allocation failed
		TDIGEST.CREATE d COMPRESSION 300 -> +OK
		TDIGEST.ADD d 1 2 3 -> +OK
		TDIGEST.MERGE to 1 d -> -ERR T-Digest: allocation of destination digest failed
		CMS.INITBYDIM m 1000 20 -> -CMS: Insufficient memory to create the key
		TOPK.RESERVE k 1000 1000 7 0.9 -> -ERR Insufficient memory to create topk data structure`)
	if got := small.Exec(commandtest.Bytes(append(quantiles[:2:2], make([]string, 2000)...)))[0].Text; got == answer.TextOOM {
		t.Error("arguments that are wrong are refused for want of memory")
	}
}
