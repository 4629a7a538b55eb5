package resp_test

import (
	"math"
	"testing"

	"github.com/bloomery/bloomery/internal/resp"
)

func TestAppend(t *testing.T) {
	tests := []struct {
		name         string
		write        func(b []byte, p resp.Protocol) []byte
		resp2, resp3 string
	}{
		{"status", func(b []byte, _ resp.Protocol) []byte { return resp.AppendStatus(b, "OK") }, "+OK\r\n", "+OK\r\n"},
		{"error", func(b []byte, _ resp.Protocol) []byte { return resp.AppendError(b, "ERR a\r\nb") }, "-ERR a  b\r\n", "-ERR a  b\r\n"},
		{"integer", func(b []byte, _ resp.Protocol) []byte { return resp.AppendInt(b, 7) }, ":7\r\n", ":7\r\n"},
		{"negative", func(b []byte, _ resp.Protocol) []byte { return resp.AppendInt(b, -12) }, ":-12\r\n", ":-12\r\n"},
		{"bulk", func(b []byte, _ resp.Protocol) []byte { return resp.AppendBulk(b, "a\r\nb") }, "$4\r\na\r\nb\r\n", "$4\r\na\r\nb\r\n"},
		{"bulk in parts", func(b []byte, _ resp.Protocol) []byte {
			return resp.AppendCRLF(append(resp.AppendBulkHead(b, 2), "hi"...))
		}, "$2\r\nhi\r\n", "$2\r\nhi\r\n"},
		{"verbatim", func(b []byte, p resp.Protocol) []byte { return resp.AppendVerbatim(b, p, "hi") }, "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n"},
		{"null", resp.AppendNull, "$-1\r\n", "_\r\n"},
		{"null array", resp.AppendNullArray, "*-1\r\n", "_\r\n"},
		{"true", func(b []byte, p resp.Protocol) []byte { return resp.AppendBool(b, p, true) }, ":1\r\n", "#t\r\n"},
		{"false", func(b []byte, p resp.Protocol) []byte { return resp.AppendBool(b, p, false) }, ":0\r\n", "#f\r\n"},
		{"double", func(b []byte, p resp.Protocol) []byte { return resp.AppendDouble(b, p, 0.01) }, "$4\r\n0.01\r\n", ",0.01\r\n"},
		{"infinity", func(b []byte, p resp.Protocol) []byte { return resp.AppendDouble(b, p, math.Inf(-1)) }, "$4\r\n-inf\r\n", ",-inf\r\n"},
		{"array", func(b []byte, _ resp.Protocol) []byte { return resp.AppendArray(b, 3) }, "*3\r\n", "*3\r\n"},
		{"map", func(b []byte, p resp.Protocol) []byte { return resp.AppendMap(b, p, 3) }, "*6\r\n", "%3\r\n"},
		{"set", func(b []byte, p resp.Protocol) []byte { return resp.AppendSet(b, p, 3) }, "*3\r\n", "~3\r\n"},
	}
	for _, tt := range tests {
		if got := string(tt.write(nil, resp.RESP2)); got != tt.resp2 {
			t.Errorf("%s in RESP2 = %q, want %q", tt.name, got, tt.resp2)
		}
		if got := string(tt.write(nil, resp.RESP3)); got != tt.resp3 {
			t.Errorf("%s in RESP3 = %q, want %q", tt.name, got, tt.resp3)
		}
	}
}
