package rdb

// LZF, the compression of RDB strings.

// maxRatio is how many bytes one packed byte can stand for, with room to spare:
// three bytes name at most 264.
const maxRatio = 264

// UnpackLZF undoes LZF, the compression of RDB strings: a byte below 32 is a run
// of literals, others name an earlier place to copy from. Memory follows what is
// really packed.
func UnpackLZF(in []byte, size uint64) ([]byte, bool) {
	if size > maxRatio*uint64(len(in)) {
		return nil, false
	}
	out := make([]byte, 0, size)
	for i := 0; i < len(in); {
		control := int(in[i])
		i++
		if control < 32 {
			n := control + 1
			if i+n > len(in) {
				return nil, false
			}
			out = append(out, in[i:i+n]...)
			i += n
			continue
		}
		n := control >> 5
		if n == 7 {
			if i == len(in) {
				return nil, false
			}
			n += int(in[i])
			i++
		}
		if i == len(in) {
			return nil, false
		}
		from := len(out) - (control&0x1f)<<8 - int(in[i]) - 1
		i++
		if from < 0 || uint64(len(out)+n+2) > size {
			return nil, false
		}
		for range n + 2 {
			out = append(out, out[from])
			from++
		}
	}
	return out, uint64(len(out)) == size
}
