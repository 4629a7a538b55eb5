package server

import (
	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/server/internal/command"
)

// appendReply writes a reply in a protocol.
func appendReply(b []byte, p resp.Protocol, r *command.Reply) []byte {
	switch r.Kind {
	case command.Bool:
		return resp.AppendBool(b, p, r.N != 0)
	case command.Int:
		return resp.AppendInt(b, r.N)
	case command.Status:
		return resp.AppendStatus(b, r.Text)
	case command.Error:
		return resp.AppendError(b, r.Text)
	case command.Bulk:
		return resp.AppendBulk(b, r.Text)
	case command.Verbatim:
		return resp.AppendVerbatim(b, p, r.Text)
	case command.Null:
		return resp.AppendNull(b, p)
	case command.NullArray:
		return resp.AppendNullArray(b, p)
	case command.Bools:
		return appendBools(b, p, r)
	case command.Codes:
		return appendCodes(b, p, r.Codes)
	case command.CodeInts:
		return appendCodes(b, resp.RESP2, r.Codes)
	case command.Array:
		return appendElems(resp.AppendArray(b, len(r.Elems)), p, r.Elems)
	case command.Map:
		return appendElems(resp.AppendMap(b, p, len(r.Elems)/2), p, r.Elems)
	case command.Set:
		return appendElems(resp.AppendSet(b, p, len(r.Elems)), p, r.Elems)
	case command.Fields:
		return appendFields(b, p, r.Elems)
	default:
		return b
	}
}

func appendElems(b []byte, p resp.Protocol, elems []command.Reply) []byte {
	for i := range elems {
		b = appendReply(b, p, &elems[i])
	}
	return b
}

// appendFields writes a map, and where there are no maps its values alone.
func appendFields(b []byte, p resp.Protocol, elems []command.Reply) []byte {
	if p >= resp.RESP3 {
		return appendElems(resp.AppendMap(b, p, len(elems)/2), p, elems)
	}
	b = resp.AppendArray(b, len(elems)/2)
	for i := 1; i < len(elems); i += 2 {
		b = appendReply(b, p, &elems[i])
	}
	return b
}

// appendBools writes an array of booleans, with an error as its last element if
// there is one.
func appendBools(b []byte, p resp.Protocol, r *command.Reply) []byte {
	n := len(r.Bools)
	if r.Text != "" {
		n++
	}
	b = resp.AppendArray(b, n)
	yes, no := resp.AppendBool(nil, p, true), resp.AppendBool(nil, p, false)
	for _, v := range r.Bools {
		if v {
			b = append(b, yes...)
		} else {
			b = append(b, no...)
		}
	}
	if r.Text != "" {
		b = resp.AppendError(b, r.Text)
	}
	return b
}

// appendCodes writes an array of results; RESP3 has booleans for them.
func appendCodes(b []byte, p resp.Protocol, codes []redisbloom.Result) []byte {
	b = resp.AppendArray(b, len(codes))
	for _, c := range codes {
		if p >= resp.RESP3 {
			b = resp.AppendBool(b, p, c > 0)
		} else {
			b = resp.AppendInt(b, int64(c))
		}
	}
	return b
}
