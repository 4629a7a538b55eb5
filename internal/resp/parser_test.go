package resp_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/internal/resp"
)

// parseAll takes every command of data, which is offered in pieces of the
// given sizes, the last size repeated. Each piece arrives in a fresh buffer, as
// it does when a connection's buffer grows.
func parseAll(data []byte, sizes ...int) (commands [][]string, err error) {
	var p resp.Parser
	var buf []byte
	for i := 0; ; i++ {
		args, n, err := p.Next(buf, nil)
		if err != nil {
			return commands, err
		}
		if n > 0 {
			if len(args) > 0 {
				words := make([]string, len(args))
				for j, a := range args {
					words[j] = string(a)
				}
				commands = append(commands, words)
			}
			buf = buf[n:]
			continue
		}
		if len(data) == 0 {
			return commands, nil
		}
		size := min(sizes[min(i, len(sizes)-1)], len(data))
		buf = append(bytes.Clone(buf), data[:size]...)
		data = data[size:]
	}
}

func TestParser(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want [][]string
		err  string
	}{
		{"array", "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n", [][]string{{"ECHO", "hi"}}, ""},
		{"empty argument", "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", [][]string{{"ECHO", ""}}, ""},
		{"line ends inside", "*1\r\n$4\r\n\r\n\r\n\r\n", [][]string{{"\r\n\r\n"}}, ""},
		{"pipeline", "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nQUIT\r\n", [][]string{{"PING"}, {"QUIT"}}, ""},
		{"empty array", "*0\r\n*-1\r\nPING\r\n", [][]string{{"PING"}}, ""},
		{"inline", "SET a b\r\n", [][]string{{"SET", "a", "b"}}, ""},
		{"inline, bare line feed", "PING\nPING\n", [][]string{{"PING"}, {"PING"}}, ""},
		{"inline, blanks", "  SET\ta   b  \r\n\r\n", [][]string{{"SET", "a", "b"}}, ""},
		{"inline, double quotes", `SET a "b\x41\n\"\q"` + "\r\n", [][]string{{"SET", "a", "bA\n\"q"}}, ""},
		{"inline, single quotes", `SET a 'b\n\'"'` + "\r\n", [][]string{{"SET", "a", `b\n'"`}}, ""},
		{"inline, empty quotes", `SET a "" ''` + "\r\n", [][]string{{"SET", "a", "", ""}}, ""},
		{"inline, quote inside word", `SET a b"c d"` + "\r\n", [][]string{{"SET", "a", "bc d"}}, ""},
		{"unbalanced", `SET a "b` + "\r\n", nil, "unbalanced quotes in request"},
		{"quote not at the end", `SET a "b"c` + "\r\n", nil, "unbalanced quotes in request"},
		{"count", "*x\r\n", nil, "invalid multibulk length"},
		{"count with zero", "*01\r\n", nil, "invalid multibulk length"},
		{"count too large", "*2147483648\r\n", nil, "invalid multibulk length"},
		{"count overflows", "*99999999999999999999\r\n", nil, "invalid multibulk length"},
		{"no dollar", "*1\r\n!4\r\nPING\r\n", nil, "expected '$', got '!'"},
		{"length", "*1\r\n$x\r\n", nil, "invalid bulk length"},
		{"negative length", "*1\r\n$-1\r\n", nil, "invalid bulk length"},
		{"length too large", "*1\r\n$536870913\r\n", nil, "invalid bulk length"},
		{"endless line", strings.Repeat("x", 65537), nil, "too big inline request"},
		{"not whole", "*2\r\n$4\r\nECHO\r\n$2\r\nh", nil, ""},
	}
	for _, tt := range tests {
		for _, sizes := range [][]int{{1 << 20}, {1}, {3}, {7, 1, 20}} {
			if len(tt.in) > 10_000 { // each piece is looked at from the start
				for i := range sizes {
					sizes[i] *= 1000
				}
			}
			t.Run(fmt.Sprintf("%s/%d", tt.name, sizes[0]), func(t *testing.T) {
				got, err := parseAll([]byte(tt.in), sizes...)
				if text := fmt.Sprint(err); err != nil && text != tt.err || err == nil && tt.err != "" {
					t.Fatalf("error = %v, want %q", err, tt.err)
				}
				if !slices.EqualFunc(got, tt.want, slices.Equal) {
					t.Errorf("commands = %q, want %q", got, tt.want)
				}
			})
		}
	}
}

func TestParserGuest(t *testing.T) {
	p := resp.Parser{Guest: true}
	if _, _, err := p.Next([]byte("*11\r\n"), nil); !errors.Is(err, resp.ErrNoPasswordCount) {
		t.Errorf("11 arguments: error = %v, want %v", err, resp.ErrNoPasswordCount)
	}
	p = resp.Parser{Guest: true}
	if _, _, err := p.Next([]byte("*1\r\n$16385\r\n"), nil); !errors.Is(err, resp.ErrNoPasswordLength) {
		t.Errorf("16385 bytes: error = %v, want %v", err, resp.ErrNoPasswordLength)
	}
}

func TestParserMemoryFollowsData(t *testing.T) {
	var p resp.Parser
	data := []byte("*2000000000\r\n$536870912\r\nx")
	allocs := testing.AllocsPerRun(10, func() {
		p = resp.Parser{}
		args, n, err := p.Next(data, nil)
		if len(args) != 0 || n != 0 || err != nil {
			t.Fatalf("Next = %d arguments, %d, %v, want none", len(args), n, err)
		}
	})
	if allocs > 1 {
		t.Errorf("%v allocations, want at most 1", allocs)
	}
	if got, want := p.Wants(), 25+(512<<20)+2; got != want {
		t.Errorf("Wants() = %d, want %d", got, want)
	}
}

func TestParserDoesNotAllocate(t *testing.T) {
	few := []byte("*3\r\n$6\r\nBF.ADD\r\n$1\r\nk\r\n$5\r\nitem1\r\n")
	many := append([]byte("*10000\r\n"), bytes.Repeat([]byte("$5\r\nitem1\r\n"), 10_000)...)
	args := make([][]byte, 0, 10_000)
	for _, data := range [][]byte{few, many} {
		for _, pieces := range []int{1, 3} {
			allocs := testing.AllocsPerRun(100, func() {
				p := resp.Parser{Room: 8192}
				for i := 1; i <= pieces; {
					found, n, err := p.Next(data[:i*len(data)/pieces], args[:0])
					switch {
					case errors.Is(err, resp.ErrRoom):
						p.Room *= 2
						continue
					case err != nil || i == pieces && (n != len(data) || string(found[len(found)-1]) != "item1"):
						t.Fatalf("%d bytes of %d: %v", n, len(data), err)
					}
					i++
				}
			})
			if allocs != 0 {
				t.Errorf("%d bytes in %d pieces: %v allocations, want 0", len(data), pieces, allocs)
			}
		}
	}
}

// FuzzParser asks that a stream means the same however it is cut, and that
// what was understood can be written and read again.
func FuzzParser(f *testing.F) {
	f.Add([]byte("*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\nPING\r\n"), uint8(3))
	f.Add([]byte("SET a \"b\\x41\"\r\n*0\r\n*1\r\n$0\r\n\r\n"), uint8(1))
	f.Add([]byte("*2000000000\r\n$536870912\r\nx"), uint8(5))
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		whole, err := parseAll(data, max(len(data), 1))
		cut, cutErr := parseAll(data, int(size)+1)
		if (err == nil) != (cutErr == nil) {
			t.Fatalf("whole: %v, in pieces: %v", err, cutErr)
		}
		if !slices.EqualFunc(whole, cut, slices.Equal) {
			t.Fatalf("whole: %q, in pieces: %q", whole, cut)
		}
		var again []byte
		for _, c := range whole {
			again = resp.AppendArray(again, len(c))
			for _, a := range c {
				again = resp.AppendBulk(again, a)
			}
		}
		got, err := parseAll(again, int(size)+1)
		if err != nil || !slices.EqualFunc(got, whole, slices.Equal) {
			t.Fatalf("again: %q, %v, want %q", got, err, whole)
		}
	})
}

func BenchmarkParser(b *testing.B) {
	data := bytes.Repeat([]byte("*3\r\n$6\r\nBF.ADD\r\n$1\r\nk\r\n$16\r\n0123456789abcdef\r\n"), 64)
	args := make([][]byte, 0, 8)
	var p resp.Parser
	b.ReportAllocs()
	for b.Loop() {
		for rest := data; len(rest) > 0; {
			_, n, _ := p.Next(rest, args[:0])
			rest = rest[n:]
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(64*b.N), "ns/command")
}

// BenchmarkParserPieces has a command of 1,000 items arrive in three pieces.
func BenchmarkParserPieces(b *testing.B) {
	data := append([]byte("*1002\r\n$10\r\nFILTER.ADD\r\n$1\r\nk\r\n"), bytes.Repeat([]byte("$12\r\n0123456789ab\r\n"), 1000)...)
	args := make([][]byte, 0, 1002)
	var p resp.Parser
	for b.Loop() {
		for _, end := range []int{len(data) / 3, 2 * len(data) / 3, len(data)} {
			_, _, _ = p.Next(data[:end], args[:0])
		}
	}
}

// TestRoom stops at arguments for which there is no room, and goes on with more,
// however the command is cut into pieces.
func TestRoom(t *testing.T) {
	const n = 20_000
	var all []byte
	all = fmt.Appendf(all, "*%d\r\n", n)
	for i := range n {
		all = fmt.Appendf(all, "$5\r\n%05d\r\n", i)
	}
	for _, piece := range []int{len(all), 1000, 77_777} {
		p := resp.Parser{Room: 100}
		rooms, got := 0, [][]byte(nil)
		for have := min(piece, len(all)); len(got) == 0; {
			args, size, err := p.Next(all[:have], nil)
			switch {
			case errors.Is(err, resp.ErrRoom):
				if len(args) > 0 {
					t.Fatalf("room for %d arguments: %d given", p.Room, len(args))
				}
				rooms++
				p.Room *= 2
			case err != nil:
				t.Fatal(err)
			case size == 0:
				have = min(have+piece, len(all))
			default:
				got = args
			}
		}
		if rooms != 8 || len(got) != n || string(got[n-1]) != "19999" || !p.Idle() {
			t.Errorf("in pieces of %d: %d times no room, %d arguments", piece, rooms, len(got))
		}
	}
}
