package formats

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
	parquetgo "github.com/parquet-go/parquet-go"

	"github.com/bloomery/bloomery/bloom"
	ours "github.com/bloomery/bloomery/foreign/parquet"
	"github.com/bloomery/bloomery/hashing/named"
)

// row is a table with one column.
type row struct {
	Name string `parquet:"name"`
}

// names are so many values.
func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s %d", prefix, i)
	}
	return all
}

// byParquetGo writes a file with parquet-go.
func byParquetGo(t *testing.T, values []string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := parquetgo.NewGenericWriter[row](&out, parquetgo.BloomFilters(parquetgo.SplitBlockFilter(10, "name")))
	for _, v := range values {
		if _, err := w.Write([]row{{v}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// byArrow writes a file with arrow-go.
func byArrow(t *testing.T, values []string) []byte {
	t.Helper()
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, schema.FieldList{schema.NewByteArrayNode("name", parquet.Repetitions.Required, -1)}, -1)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := file.NewParquetWriter(&out, root, file.WithWriterProps(parquet.NewWriterProperties(parquet.WithBloomFilterEnabled(true), parquet.WithBloomFilterNDV(int64(len(values))))))
	column, err := w.AppendRowGroup().NextColumn()
	if err != nil {
		t.Fatal(err)
	}
	batch := make([]parquet.ByteArray, len(values))
	for i, v := range values {
		batch[i] = parquet.ByteArray(v)
	}
	if _, err := column.(*file.ByteArrayColumnChunkWriter).WriteBatch(batch, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestParquet takes filters out of files of both libraries, makes the same ones, and puts
// others in their place, which both libraries read.
func TestParquet(t *testing.T) {
	for name, write := range map[string]func(*testing.T, []string) []byte{"parquet-go": byParquetGo, "arrow-go": byArrow} {
		t.Run(name, func(t *testing.T) {
			values, others := names("value", 5000), names("other", 5000)
			data := write(t, values)
			f, err := parquetgo.OpenFile(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				t.Fatal(err)
			}
			offset := f.Metadata().RowGroups[0].Columns[0].MetaData.BloomFilterOffset
			size, err := ours.Size(data[offset:])
			if err != nil {
				t.Fatal(err)
			}
			theirs := data[offset : offset+int64(size)]
			filter, err := ours.Open(theirs)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range values {
				if !filter.ContainsString(v) {
					t.Fatalf("%q is not in the filter", v)
				}
			}
			if same := made(t, filter.Shape().Bits, values); !bytes.Equal(same, theirs) {
				t.Error("the filter that is made here is another one")
			}
			copy(theirs, made(t, filter.Shape().Bits, others))
			a, b := askParquetGo(t, data), askArrow(t, data)
			for i := range others {
				if !a(others[i]) || !b(others[i]) || a(values[i]) != b(values[i]) {
					t.Fatalf("%q, %q: answers %v and %v, %v and %v", others[i], values[i], a(others[i]), b(others[i]), a(values[i]), b(values[i]))
				}
			}
		})
	}
}

// made is a filter of ours.
func made(t *testing.T, bits uint64, values []string) []byte {
	t.Helper()
	f, err := bloom.Config{Bits: bits, Hashes: 8, Hasher: named.XXH64()}.NewSplit()
	if err != nil {
		t.Fatal(err)
	}
	f.AddStrings(nil, values)
	data, err := ours.Append(nil, f)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// askParquetGo asks the filter of a file through parquet-go.
func askParquetGo(t *testing.T, data []byte) func(string) bool {
	t.Helper()
	f, err := parquetgo.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	filter := f.RowGroups()[0].ColumnChunks()[0].BloomFilter()
	return func(v string) bool {
		found, err := filter.Check(parquetgo.ByteArrayValue([]byte(v)))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
}

// askArrow asks the filter of a file through arrow-go.
func askArrow(t *testing.T, data []byte) func(string) bool {
	t.Helper()
	f, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	group, err := f.GetBloomFilterReader().RowGroup(0)
	if err != nil {
		t.Fatal(err)
	}
	filter, err := group.GetColumnBloomFilter(0)
	if err != nil || filter == nil {
		t.Fatalf("no filter: %v", err)
	}
	return func(v string) bool { return filter.CheckHash(filter.Hasher().Sum64([]byte(v))) }
}
