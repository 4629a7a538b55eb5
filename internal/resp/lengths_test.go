package resp_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/internal/resp"
)

// TestArgumentLengths takes arguments of all short lengths and some long ones, and
// limits around each.
func TestArgumentLengths(t *testing.T) {
	lengths := []int{999, 1000, 1001, 16384, 70_000}
	for n := range 130 {
		lengths = append(lengths, n)
	}
	for _, n := range lengths {
		value := strings.Repeat("v", n)
		data := fmt.Appendf(nil, "*3\r\n$1\r\na\r\n$%d\r\n%s\r\n$2\r\nbc\r\n", n, value)
		for _, limit := range []int{0, n, n + 1, n - 1} {
			if limit < 0 || limit > 0 && limit < 2 {
				continue
			}
			p := resp.Parser{MaxLength: limit}
			args, got, err := p.Next(data, nil)
			if limit > 0 && n > limit {
				if err == nil || got != 0 || len(args) != 0 {
					t.Errorf("%d bytes, limit %d: %d arguments, %d, %v", n, limit, len(args), got, err)
				}
				continue
			}
			if err != nil || got != len(data) || len(args) != 3 || string(args[1]) != value || string(args[2]) != "bc" {
				t.Fatalf("%d bytes, limit %d: %d arguments, %d of %d bytes, %v", n, limit, len(args), got, len(data), err)
			}
			if cap(args[1]) != n {
				t.Errorf("an append to an argument of %d bytes would write behind it", n)
			}
		}
		// A byte less, and it is not there yet.
		for _, cut := range []int{1, 2, 3, 7, 8} {
			var p resp.Parser
			if args, got, err := p.Next(data[:len(data)-cut], nil); got != 0 || len(args) != 0 || err != nil {
				t.Errorf("%d bytes, cut off by %d: %d arguments, %d, %v", n, cut, len(args), got, err)
			}
		}
	}
}

// TestBadLengths has lengths that are none, whole and in pieces. What is wrong takes
// no bytes.
func TestBadLengths(t *testing.T) {
	for _, head := range []string{
		"$05", "$1x", "$x1", "$:1", "$1:", "$ 5", "$+5", "$5 ", "$12x", "$1\n", "$", "$5\r", "$-5", "$099",
		"$1234567890123456789", "$9999999999999999999999",
	} {
		data := []byte("*2\r\n$1\r\na\r\n" + head + "\r\nhello world, this is long enough\r\n")
		var p resp.Parser
		if args, n, err := p.Next(data, nil); err == nil || n != 0 || len(args) != 0 {
			t.Errorf("%q: %d arguments, %d, %v", head, len(args), n, err)
		}
		if _, err := parseAll(data, 1); err == nil {
			t.Errorf("%q in single bytes: no error", head)
		}
	}
	for _, count := range []string{"*2147483648\r\n", "*x\r\n", "*1234567890123456789\r\n", "*1\n\n", "*" + strings.Repeat("1", 70_000)} {
		var p resp.Parser
		if _, n, err := p.Next([]byte(count), nil); err == nil || n != 0 {
			t.Errorf("%.30q: %d, %v", count, n, err)
		}
	}
}

// TestInlineEscapes writes every byte as an escape, in both cases.
func TestInlineEscapes(t *testing.T) {
	for c := range 256 {
		for _, form := range []string{`"\x%02x"`, `"\x%02X"`} {
			var p resp.Parser
			args, _, err := p.Next(fmt.Appendf(nil, "ECHO "+form+"\r\n", c), nil)
			if err != nil || len(args) != 2 || !bytes.Equal(args[1], []byte{byte(c)}) {
				t.Errorf(form+": %q, %v", c, args, err)
			}
		}
	}
	// What is no digit stays as it is, without the backslash.
	for _, text := range []string{"xg0", "x0g", "x0/", "x:0", "x@0", "xG0", "x`0", "x"} {
		var p resp.Parser
		args, _, err := p.Next([]byte(`ECHO "\`+text+"\"\r\n"), nil)
		if err != nil || len(args) != 2 || string(args[1]) != text {
			t.Errorf("%s: %q, %v", text, args, err)
		}
	}
	for escape, want := range map[string]string{`\n`: "\n", `\r`: "\r", `\t`: "\t", `\b`: "\b", `\a`: "\a", `\\`: `\`, `\q`: "q"} {
		var p resp.Parser
		if args, _, err := p.Next([]byte(`ECHO "`+escape+"\"\r\n"), nil); err != nil || string(args[1]) != want {
			t.Errorf("%s: %q, %v", escape, args, err)
		}
	}
	for _, c := range "\t\v\f\r\x00 " { // what may stand behind a quote
		var p resp.Parser
		if args, _, err := p.Next([]byte("\"a\""+string(c)+"b\n"), nil); err != nil || len(args) != 2 {
			t.Errorf("%q behind a quote: %q, %v", c, args, err)
		}
	}
	for _, c := range "\x08\x0e\x1f!" {
		var p resp.Parser
		if args, _, err := p.Next([]byte("\"a\""+string(c)+"b\n"), nil); err == nil {
			t.Errorf("%q behind a quote: %q", c, args)
		}
	}
	var p resp.Parser
	args, _, err := p.Next([]byte("a\tb\vc\fd\x00e f\rg\n"), nil)
	if err != nil || len(args) != 7 {
		t.Errorf("seven words apart by all blanks: %q, %v", args, err)
	}
	if args, _, err := p.Next([]byte("a\x08b\x0ec\x1fd!\n"), nil); err != nil || len(args) != 1 {
		t.Errorf("one word: %q, %v", args, err)
	}
}

// TestGuestLimits takes what clients without a password may send, to the byte.
func TestGuestLimits(t *testing.T) {
	p := resp.Parser{Guest: true}
	data := "*10\r\n$16384\r\n" + strings.Repeat("v", 16384) + "\r\n" + strings.Repeat("$1\r\na\r\n", 9)
	if args, n, err := p.Next([]byte(data), nil); err != nil || n != len(data) || len(args) != 10 {
		t.Errorf("ten arguments: %d of %d bytes, %v", n, len(data), err)
	}
	// An argument of no bytes is wanted with its line end.
	p = resp.Parser{}
	if _, n, err := p.Next([]byte("*2\r\n$0\r\n"), nil); n != 0 || err != nil || p.Wants() != 10 {
		t.Errorf("an empty argument: %d, %v, wants %d bytes, not 10", n, err, p.Wants())
	}
}
