package command_test

import (
	"bytes"
	"testing"

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
		"FILTER.CREATE l layers OVER w q\nFILTER.HAS l a b\nFILTER.LAYERS l\nFILTER.CREATE w window SPAN 10s GENERATIONS 5 BURST 2\nFILTER.ADD w a\nFILTER.CREATE q quorum MEMBERS 5 NEED 3\nFILTER.ADD q b\nFILTER.WHERE * a b\nFILTER.KINDS\nFILTER.PLAN 1000 0.01 NEEDS deletes",
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
