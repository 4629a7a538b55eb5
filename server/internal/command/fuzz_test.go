package command_test

import (
	"bytes"
	"encoding"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/rdb"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// FuzzCommands runs whatever words it is given, in a server with little memory:
// every command and every parser is behind it. Every command must be answered,
// memory must keep to its limit, and the log must replay to the same state.
func FuzzCommands(f *testing.F) {
	for _, s := range []string{
		"BF.RESERVE k 0.01 100 EXPANSION 2\nBF.MADD k a b c\nBF.INFO k size\nBF.DEBUG k\nBF.SCANDUMP k 0",
		"BF.INSERT k CAPACITY 10 ERROR 0.1 NONSCALING ITEMS a b\nBF.CARD k\nBF.EXISTS k a\nBF.MEXISTS k a b\nBF.LOADCHUNK l 1 x",
		"CF.RESERVE c 4 BUCKETSIZE 1 MAXITERATIONS 3 EXPANSION 2\nCF.ADD c x\nCF.ADDNX c x\nCF.DEL c x\nCF.COUNT c x\nCF.COMPACT c",
		"CF.INSERT c CAPACITY 10 NOCREATE ITEMS a\nCF.INSERTNX c ITEMS a b\nCF.MEXISTS c a\nCF.INFO c\nCF.DEBUG c\nCF.SCANDUMP c 0",
		"HELLO 3 AUTH default x SETNAME n\nCLIENT LIST\nCLIENT KILL ID 3\nCLIENT REPLY SKIP\nPING\nCLIENT SETINFO lib-name x\nRESET",
		"SET s v EX 10 NX GET\nGET s\nINCR s\nAPPEND s x\nSETRANGE s 5 x\nEXPIRE s 10 GT\nTTL s\nPERSIST s\nRENAME s t\nCOPY t u\nTYPE u", //nolint:dupword // an option and a command
		"MSET a 1 b 2\nMGET a b c\nSETEX a 10 v\nPSETEX a 10 v\nSETNX d v\nGETSET a w\nGETEX a PXAT 5\nGETEX b EX 9\nGETEX b PERSIST\nGETDEL d",
		"CLIENT PAUSE 100000 WRITE\nSET a 1\nCLIENT UNPAUSE\nMONITOR\nGET a\nRESET\nLATENCY HISTOGRAM get\nLATENCY DOCTOR\nLATENCY RESET x\nCONFIG REWRITE",
		"EVAL x 0\nSUBSCRIBE x\nSELECT 1\nCONFIG SET appendfsync no latency-monitor-threshold 1\nCONFIG SET appendfsync always\nSHUTDOWN NOSAVE ABORT",
		"SCAN 0 MATCH a*[b-c] COUNT 5 TYPE string\nKEYS *\nRANDOMKEY\nOBJECT ENCODING s\nMEMORY USAGE s SAMPLES 0\nDBSIZE\nFLUSHALL ASYNC",
		"CONFIG SET bf-error-rate 0.5 cf-bucket-size 3\nCONFIG GET *\nINFO all\nSLOWLOG GET 1\nCOMMAND DOCS\nCOMMAND INFO get\nACL CAT bloom\nACL SETUSER u on >p ~k* +@read (~x +get)\nAUTH u p\nGET k\nSET k v\nACL LOG",
		"CMS.INITBYDIM c 10 3\nCMS.INITBYPROB d 0.1 0.1\nCMS.INCRBY c a 1 b 2\nCMS.QUERY c a b\nCMS.MERGE d 2 c c WEIGHTS 1 -1\nCMS.INFO d\nDUMP c",
		"TOPK.RESERVE t 3 8 7 0.9\nTOPK.ADD t a b a\nTOPK.INCRBY t a 5 b x c 1\nTOPK.QUERY t a\nTOPK.COUNT t a\nTOPK.LIST t WITHCOUNT\nTOPK.INFO t",
		"TDIGEST.CREATE q COMPRESSION 5\nTDIGEST.ADD q 1 2.5 -3e2\nTDIGEST.QUANTILE q 0 0.5 1\nTDIGEST.CDF q 1 inf\nTDIGEST.RANK q 2\nTDIGEST.REVRANK q 2\nTDIGEST.MIN q",
		"TDIGEST.CREATE q\nTDIGEST.ADD q 1 2\nTDIGEST.BYRANK q 1\nTDIGEST.BYREVRANK q 0\nTDIGEST.TRIMMED_MEAN q 0.1 0.9\nTDIGEST.MERGE r 2 q q COMPRESSION 3 OVERRIDE\nTDIGEST.INFO r\nTDIGEST.RESET r",
		"FILTER.CREATE f bloom CAPACITY 100 ERROR 0.01 SEED 3 HEADROOM 5 PARTS 2 SLA 5 BUDGET 9\nFILTER.ADD f a b\nFILTER.HAS f a\nFILTER.INFO f JSON\nFILTER.CARD f\nFILTER.CLEAR f\nFILTER.DUMP f 0",
		"FILTER.CREATE w window SPAN 10s GENERATIONS 5 BURST 2\nFILTER.ADD w a\nFILTER.CREATE q quorum MEMBERS 5 NEED 3\nFILTER.ADD q b\nFILTER.WHERE * a b\nFILTER.KINDS\nFILTER.PLAN 1000 0.01 NEEDS deletes",
		"FILTER.CREATE c cuckoo BITS 12 NX RANDOM\nFILTER.ADD c a a\nFILTER.COUNT c a\nFILTER.DEL c a\nFILTER.CREATE g growing\nFILTER.CREATE h standard LIKE g\nFILTER.ADDHASH c 5\nFILTER.HASHASH c 0xff",
		"FILTER.CREATE a standard CAPACITY 50\nFILTER.CREATE b standard LIKE a\nFILTER.ADD a x\nFILTER.UNION b a\nFILTER.INTERSECT d a b\nFILTER.SIMILAR a b\nCOPY a e\nFILTER.LOAD l 1 x VERSION 3\nMULTI\nFILTER.CLEAR a\nEXEC",
		"MULTI\nBF.ADD k x\nEXEC\nWATCH k\nDISCARD\nUNWATCH\nDUMP k\nRESTORE k 0 x REPLACE\nTIME\nWAIT 0 0\nCLUSTER SLOTS\nMODULE LIST",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 20
		b := commandtest.New(t, limit)
		var group [][][]byte
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			if args := bytes.Split(line, []byte(" ")); len(group) < 64 {
				group = append(group, args)
			}
		}
		for i, r := range b.Exec(group...) {
			if r.Kind == answer.None && !b.Session.Quit {
				t.Fatalf("%q has no reply", group[i])
			}
		}
		changed := b.Do("CONFIG", "GET", "maxmemory") != `["maxmemory" "1048576"]`
		if b.State.Bytes() > limit && !changed && !b.Session.Quit {
			t.Fatalf("%d bytes in use, limit %d", b.State.Bytes(), limit)
		}
		b.Close(t)
	})
}

// FuzzRestore asks that a payload with a right footer, whatever it holds, is
// refused or becomes a key that dumps and restores again.
func FuzzRestore(f *testing.F) {
	b := commandtest.New(f, 1<<20)
	b.Line("BF.INSERT b CAPACITY 5 ITEMS 1 2 3 4 5 6 7 8 9")
	b.Line("CF.INSERT c CAPACITY 5 ITEMS 1 2 3 4 5 6 7 8 9")
	b.Line("SET s hello")
	b.Line("CMS.INITBYDIM m 3 2")
	b.Line("CMS.INCRBY m a 1 b 2")
	b.Line("TOPK.RESERVE t 3 2 2 0.9")
	b.Line("TOPK.ADD t a b")
	b.Line("TDIGEST.CREATE d COMPRESSION 2")
	b.Line("TDIGEST.ADD d 1 2 3 4")
	b.Line("TDIGEST.CREATE e COMPRESSION 2")
	b.Line("TDIGEST.ADD e 7")
	b.Line("FILTER.CREATE f counting CAPACITY 10 PARTS 2")
	b.Line("FILTER.ADD f a b c")
	b.Line("FILTER.CREATE w window CAPACITY 10")
	b.Line("FILTER.CREATE q quorum CAPACITY 10")
	for _, key := range []string{"b", "c", "s", "m", "t", "d", "e", "f", "w", "q"} {
		r := b.Exec([][]byte{[]byte("DUMP"), []byte(key)})[0]
		f.Add([]byte(r.Text[:len(r.Text)-10]))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := commandtest.New(t, 1<<20)
		defer b.Door.Close() // its tasks keep all of its memory
		got := b.Do("RESTORE", "k", "0", string(rdb.AppendFooter(bytes.Clone(data))))
		if got != "+OK" {
			if b.State.Names.Len() != 0 {
				t.Fatalf("refused with %s, and there is a key", got)
			}
			return
		}
		dump := b.Exec([][]byte{[]byte("DUMP"), []byte("k")})[0].Text
		if got := b.Do("RESTORE", "l", "0", dump); got != "+OK" {
			t.Fatalf("RESTORE of our own dump = %s", got)
		}
		if again := b.Exec([][]byte{[]byte("DUMP"), []byte("l")})[0].Text; again != dump {
			t.Fatal("a dump restored gives another dump")
		}
		for _, line := range []string{
			"CMS.INCRBY k x 3", "CMS.QUERY k x", "CMS.MERGE k 2 k l", "TOPK.INCRBY k x 5 y 3 z 1", "TOPK.LIST k WITHCOUNT", "TOPK.COUNT k x",
			"TDIGEST.CDF k 1 2", "TDIGEST.BYRANK k 1 7", "TDIGEST.RANK k 1 inf", "TDIGEST.TRIMMED_MEAN k 0.1 0.7", "TDIGEST.ADD k 1 2 3 4",
			"TDIGEST.QUANTILE k 0 0.4 1", "TDIGEST.MERGE k 1 l",
		} {
			b.Line(line)
		}
	})
}

// FuzzFilterLoad asks that hostile bytes are refused and change nothing, or become a
// filter that answers, takes items and dumps to what loads again.
func FuzzFilterLoad(f *testing.F) {
	for _, k := range codec.Kinds() {
		var v bloomery.Hashed
		var err error
		if k.Features.Static {
			v, err = k.Build([]uint64{1, 2, 3, 1 << 60}, 0.01, hashing.Hasher{})
		} else {
			v, err = k.New(20, 0.1, hashing.Keyed([16]byte{9}))
		}
		if err != nil {
			f.Fatal(err)
		}
		data, err := v.(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newBench(t, 1<<20)
		defer b.Door.Close() // its tasks keep all of its memory
		if got := b.Do("FILTER.LOAD", "k", "1", string(data)); got != "+OK" {
			if b.State.Names.Len() != 0 || b.State.Bytes() != 0 {
				t.Fatalf("refused with %s, and there is a key of %d bytes", got, b.State.Bytes())
			}
			return
		}
		for _, line := range []string{"FILTER.HAS k a b", "FILTER.ADD k a b", "FILTER.DEL k a", "FILTER.COUNT k b", "FILTER.INFO k", "FILTER.HASHASH k 5", "FILTER.CARD k"} {
			if got := b.Line(line); got == "none" {
				t.Fatalf("%s has no reply", line)
			}
		}
		r := b.Exec([][]byte{[]byte("FILTER.DUMP"), []byte("k"), []byte("0")})[0]
		if got := b.Do("FILTER.LOAD", "l", "1", r.Elems[1].Text); got != "+OK" {
			t.Fatalf("LOAD of what DUMP returned = %s", got)
		}
		b.Crash(t)
	})
}
