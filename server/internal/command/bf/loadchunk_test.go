package bf_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestNarrowBloom loads a filter of a very old release, with hashes of 32 bits, and
// uses it in a pipeline beside another one.
func TestNarrowBloom(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("BF.RESERVE wide 0.01 100")
	r := b.Exec(commandtest.Fields("BF.SCANDUMP wide 0"))[0]
	header := []byte(r.Elems[1].Text)
	const force64 = 4
	options := binary.LittleEndian.Uint32(header[12:])
	if options&force64 == 0 {
		t.Fatalf("options %d", options)
	}
	binary.LittleEndian.PutUint32(header[12:], options&^force64)
	if got := b.Do("BF.LOADCHUNK", "narrow", fmt.Sprint(r.Elems[0].N), string(header)); got != "+OK" {
		t.Fatal(got)
	}
	var adds [][][]byte
	for i := range 20 {
		adds = append(adds, commandtest.Fields(fmt.Sprint("BF.ADD wide ", i)), commandtest.Fields(fmt.Sprint("BF.ADD narrow ", i, "n")), commandtest.Fields(fmt.Sprint("BF.MADD narrow ", i, "a ", i, "b")))
	}
	b.Exec(adds...)
	for i := range 20 {
		b.Script(t, fmt.Sprintf("BF.MEXISTS narrow %dn %[1]da %[1]db -> [true true true]\nBF.EXISTS wide %[1]d -> :1", i))
		b.Script(t, fmt.Sprintf("BF.MEXISTS wide %dn %[1]da -> [false false]\nBF.EXISTS narrow %[1]d -> :0", i))
	}
}
