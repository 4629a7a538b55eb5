package resp

import "strconv"

// AppendStatus appends a simple string. Line ends in s would end the reply
// early, so they become blanks.
func AppendStatus(b []byte, s string) []byte {
	return appendLine(append(b, '+'), s)
}

// AppendError appends an error. As in Redis, a text carries its own code
// ("ERR not found") or none, and line ends become blanks.
func AppendError(b []byte, s string) []byte {
	return appendLine(append(b, '-'), s)
}

// AppendInt appends an integer.
func AppendInt(b []byte, v int64) []byte {
	if v >= 0 && v <= 9 {
		return append(b, ':', byte('0'+v), '\r', '\n')
	}
	return appendNumber(append(b, ':'), v)
}

// AppendBulk appends a string of any bytes.
func AppendBulk(b []byte, s string) []byte {
	b = appendNumber(append(b, '$'), int64(len(s)))
	b = append(b, s...)
	return append(b, '\r', '\n')
}

// AppendBulkHead appends what stands before the n bytes of a bulk string. The
// caller sends the bytes and then AppendCRLF: large values need no copy.
func AppendBulkHead(b []byte, n int) []byte {
	return appendNumber(append(b, '$'), int64(n))
}

// AppendCRLF appends a line end.
func AppendCRLF(b []byte) []byte { return append(b, '\r', '\n') }

// AppendVerbatim appends text for people: a verbatim string in RESP3, a bulk
// string in RESP2.
func AppendVerbatim(b []byte, p Protocol, s string) []byte {
	b = AppendVerbatimHead(b, p, len(s))
	b = append(b, s...)
	return append(b, '\r', '\n')
}

// AppendVerbatimHead is AppendBulkHead for a verbatim string.
func AppendVerbatimHead(b []byte, p Protocol, n int) []byte {
	if p < RESP3 {
		return AppendBulkHead(b, n)
	}
	b = appendNumber(append(b, '='), int64(n+4))
	return append(b, "txt:"...)
}

// AppendNull appends the absent value.
func AppendNull(b []byte, p Protocol) []byte {
	if p < RESP3 {
		return append(b, "$-1\r\n"...)
	}
	return append(b, "_\r\n"...)
}

// AppendNullArray appends the absent array: EXEC answers it when a watched key
// has changed.
func AppendNullArray(b []byte, p Protocol) []byte {
	if p < RESP3 {
		return append(b, "*-1\r\n"...)
	}
	return append(b, "_\r\n"...)
}

// AppendBool appends true or false; RESP2 has 1 and 0 instead.
func AppendBool(b []byte, p Protocol, v bool) []byte {
	switch {
	case p < RESP3 && v:
		return append(b, ":1\r\n"...)
	case p < RESP3:
		return append(b, ":0\r\n"...)
	case v:
		return append(b, "#t\r\n"...)
	default:
		return append(b, "#f\r\n"...)
	}
}

// AppendArray begins an array of n elements, which the caller appends.
func AppendArray(b []byte, n int) []byte {
	return appendNumber(append(b, '*'), int64(n))
}

// AppendMap begins a map of n pairs: in RESP2 an array of 2n elements.
func AppendMap(b []byte, p Protocol, n int) []byte {
	if p < RESP3 {
		return AppendArray(b, 2*n)
	}
	return appendNumber(append(b, '%'), int64(n))
}

// AppendSet begins a set of n elements: in RESP2 an array.
func AppendSet(b []byte, p Protocol, n int) []byte {
	if p < RESP3 {
		return AppendArray(b, n)
	}
	return appendNumber(append(b, '~'), int64(n))
}

func appendNumber(b []byte, v int64) []byte {
	b = strconv.AppendInt(b, v, 10)
	return append(b, '\r', '\n')
}

func appendLine(b []byte, s string) []byte {
	at := len(b)
	b = append(b, s...)
	for i := at; i < len(b); i++ {
		if b[i] == '\r' || b[i] == '\n' {
			b[i] = ' '
		}
	}
	return append(b, '\r', '\n')
}
