package store

// The bytes of a record.

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

// recordVersion is the first byte of every record.
const recordVersion = 1

// field names a field of a record; a record's fields are encoded in this order.
type field uint32

const (
	fieldFlags field = 1 << iota
	fieldIndex
	fieldID
	fieldAt
	fieldDeadline
	fieldName
	fieldOther
	fieldNames
	fieldIDs
	fieldValue
	fieldPosition
	fieldRoom
	fieldLimit
	fieldDigests
	fieldHashes
	fieldBloom
	fieldCuckoo
)

// fields says which fields a record has besides its origin. An operation that
// is not here does not exist.
var fields = map[Op]field{
	OpBloom:          fieldAt | fieldName | fieldBloom,
	OpCuckoo:         fieldAt | fieldName | fieldCuckoo,
	OpBloomDump:      fieldAt | fieldName | fieldValue,
	OpCuckooDump:     fieldAt | fieldName | fieldValue,
	OpRemove:         fieldAt | fieldNames,
	OpRename:         fieldAt | fieldName | fieldOther | fieldFlags,
	OpExpire:         fieldAt | fieldName | fieldDeadline | fieldFlags,
	OpPersist:        fieldAt | fieldName,
	OpEvict:          fieldAt | fieldIDs,
	OpFlush:          fieldAt,
	OpSet:            fieldAt | fieldName | fieldValue | fieldDeadline | fieldFlags,
	OpAppend:         fieldAt | fieldName | fieldValue,
	OpSetRange:       fieldAt | fieldName | fieldValue | fieldPosition,
	OpIncrement:      fieldAt | fieldName | fieldPosition,
	OpPiece:          fieldValue,
	OpSeed:           fieldPosition,
	OpStage:          fieldAt | fieldFlags | fieldValue,
	OpReveal:         fieldAt | fieldID | fieldName | fieldDeadline | fieldFlags,
	OpSetMany:        fieldAt | fieldNames,
	OpTake:           fieldAt | fieldName,
	OpTouch:          fieldAt | fieldName | fieldDeadline,
	OpExpect:         fieldAt | fieldID | fieldName | fieldDeadline,
	OpAdd:            fieldIndex | fieldID | fieldRoom | fieldDigests,
	OpInsert:         fieldIndex | fieldID | fieldRoom | fieldLimit | fieldHashes,
	OpInsertNew:      fieldIndex | fieldID | fieldRoom | fieldLimit | fieldHashes,
	OpInsertEach:     fieldIndex | fieldID | fieldRoom | fieldLimit | fieldHashes,
	OpInsertNewEach:  fieldIndex | fieldID | fieldRoom | fieldLimit | fieldHashes,
	OpInsertFirst:    fieldIndex | fieldID | fieldRoom | fieldLimit | fieldHashes,
	OpInsertNewFirst: fieldIndex | fieldID | fieldRoom | fieldLimit | fieldHashes,
	OpDelete:         fieldIndex | fieldID | fieldHashes,
	OpDeleteLazily:   fieldIndex | fieldID | fieldLimit | fieldHashes,
	OpExpectPart:     fieldIndex | fieldID | fieldLimit,
	OpCompact:        fieldIndex | fieldID,
	OpCompactPiece:   fieldIndex | fieldID | fieldPosition | fieldRoom | fieldLimit,
	OpBloomChunk:     fieldIndex | fieldID | fieldPosition | fieldValue,
	OpCuckooChunk:    fieldIndex | fieldID | fieldPosition | fieldValue,
	OpCountMin:       fieldAt | fieldName | fieldValue,
	OpTopK:           fieldAt | fieldName | fieldValue,
	OpTDigest:        fieldAt | fieldName | fieldValue,
	OpCountMinMerge:  fieldAt | fieldName | fieldNames | fieldValue,
	OpTDigestMerge:   fieldAt | fieldName | fieldNames | fieldPosition | fieldFlags,
	OpCountMinIncr:   fieldIndex | fieldID | fieldValue,
	OpCountMinChunk:  fieldIndex | fieldID | fieldPosition | fieldLimit | fieldValue,
	OpTopKIncr:       fieldIndex | fieldID | fieldValue,
	OpTopKChunk:      fieldIndex | fieldID | fieldPosition | fieldValue,
	OpTDigestAdd:     fieldIndex | fieldID | fieldValue,
	OpTDigestChunk:   fieldIndex | fieldID | fieldFlags | fieldValue,
	OpCompress:       fieldIndex | fieldID,
	OpTDigestBegin:   fieldIndex | fieldID | fieldValue,
	OpFilter:         fieldAt | fieldName | fieldValue,
	OpFilterLoad:     fieldAt | fieldName | fieldValue,
	OpFilterAdd:      fieldIndex | fieldID | fieldRoom | fieldHashes,
	OpFilterDelete:   fieldIndex | fieldID | fieldHashes,
	OpFilterAdvance:  fieldIndex | fieldID | fieldPosition,
	OpFilterClear:    fieldIndex | fieldID | fieldValue,
	OpFilterPiece:    fieldIndex | fieldID | fieldPosition | fieldLimit | fieldValue,
	OpFilterUnion:    fieldIndex | fieldID | fieldPosition | fieldValue,
	OpFilterGrow:     fieldIndex | fieldID | fieldPosition,
	OpFilterFold:     fieldIndex | fieldID,
	OpFilterScale:    fieldIndex | fieldID | fieldPosition,
	OpShadow:         fieldAt | fieldID | fieldName | fieldValue,
	OpShadowSeal:     fieldAt | fieldID,
	OpShadowSwap:     fieldAt | fieldID | fieldName | fieldIDs,
	OpShadowFeed:     fieldIndex | fieldID | fieldRoom | fieldHashes,
	OpShadowAdd:      fieldIndex | fieldID | fieldRoom | fieldHashes,
	OpShadowBreak:    fieldIndex | fieldID,
	OpShadowMissed:   fieldIndex | fieldID | fieldPosition,
	OpBirth:          fieldAt | fieldID | fieldPosition | fieldLimit,
	OpJoin:           fieldAt | fieldName | fieldOther | fieldPosition | fieldLimit,
	OpLeave:          fieldAt | fieldID,
	OpSession:        fieldAt | fieldID | fieldPosition | fieldLimit,
	OpLevel:          fieldAt | fieldLimit,
	OpFound:          fieldAt | fieldID,
	OpBegin:          0,
	OpCommit:         0,
	OpRollback:       0,
}

// AppendRecord appends the encoding of r to b: version, operation, origin, and
// the fields of that operation in the order of their constants. Numbers are
// varints, digests 8 or 16 bytes little-endian, byte strings and lists have
// their length in front.
func AppendRecord(b []byte, r *Record) []byte {
	b = append(b, recordVersion, byte(r.Op))
	b = binary.AppendUvarint(b, r.Origin.Session)
	b = binary.AppendUvarint(b, r.Origin.Counter)
	switch r.Op { // those that come in masses
	case OpFilterAdd, OpShadowFeed, OpShadowAdd:
		b = appendTarget(b, r)
		b = binary.AppendUvarint(b, r.Room+1)
		return appendHashes(b, r.Hashes)
	case OpAdd:
		b = appendTarget(b, r)
		b = binary.AppendUvarint(b, r.Room+1) // Unlimited becomes 0
		return appendDigests(b, r.Digests)
	case OpInsert, OpInsertNew, OpInsertEach, OpInsertNewEach, OpInsertFirst, OpInsertNewFirst:
		b = appendTarget(b, r)
		b = binary.AppendUvarint(b, r.Room+1)
		b = binary.AppendUvarint(b, r.Limit)
		return appendHashes(b, r.Hashes)
	default:
		return appendFields(b, r, fields[r.Op])
	}
}

func appendTarget(b []byte, r *Record) []byte {
	b = binary.AppendUvarint(b, uint64(r.Index))
	return binary.AppendUvarint(b, r.ID)
}

func appendFields(b []byte, r *Record, has field) []byte {
	if has&fieldFlags != 0 {
		b = append(b, r.Flags)
	}
	if has&fieldID != 0 {
		b = appendTarget(b, r)
	}
	if has&fieldAt != 0 {
		b = binary.AppendVarint(b, r.At)
	}
	if has&fieldDeadline != 0 {
		b = binary.AppendVarint(b, r.Deadline)
	}
	if has&fieldName != 0 {
		b = appendBytes(b, r.Name)
	}
	if has&fieldOther != 0 {
		b = appendBytes(b, r.Other)
	}
	if has&fieldNames != 0 {
		b = binary.AppendUvarint(b, uint64(len(r.Names)))
		for _, n := range r.Names {
			b = appendBytes(b, n)
		}
	}
	if has&fieldIDs != 0 {
		b = binary.AppendUvarint(b, uint64(len(r.IDs)))
		for _, id := range r.IDs {
			b = binary.AppendUvarint(b, id)
		}
	}
	if has&fieldValue != 0 {
		b = appendBytes(b, r.Value)
	}
	if has&fieldPosition != 0 {
		b = binary.AppendVarint(b, r.Position)
	}
	if has&fieldRoom != 0 {
		b = binary.AppendUvarint(b, r.Room+1)
	}
	if has&fieldLimit != 0 {
		b = binary.AppendUvarint(b, r.Limit)
	}
	if has&fieldHashes != 0 {
		b = appendHashes(b, r.Hashes)
	}
	if has&fieldBloom != 0 {
		b = appendBloom(b, &r.Bloom)
	}
	if has&fieldCuckoo != 0 {
		b = appendCuckoo(b, &r.Cuckoo)
	}
	return b
}

func appendBytes(b, v []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(v)))
	return append(b, v...)
}

func appendDigests(b []byte, ds []redisbloom.Digest) []byte {
	b = binary.AppendUvarint(b, uint64(len(ds)))
	for _, d := range ds {
		b = binary.LittleEndian.AppendUint64(b, d.A)
		b = binary.LittleEndian.AppendUint64(b, d.B)
	}
	return b
}

func appendHashes(b []byte, hs []uint64) []byte {
	b = binary.AppendUvarint(b, uint64(len(hs)))
	for _, h := range hs {
		b = binary.LittleEndian.AppendUint64(b, h)
	}
	return b
}

func appendBloom(b []byte, p *redisbloom.BloomParams) []byte {
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(p.ErrorRate))
	b = binary.AppendUvarint(b, p.Capacity)
	b = binary.AppendUvarint(b, uint64(p.Expansion))
	if p.NonScaling {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendCuckoo(b []byte, p *redisbloom.CuckooParams) []byte {
	b = binary.AppendUvarint(b, p.Capacity)
	b = binary.AppendUvarint(b, uint64(p.BucketSize))
	b = binary.AppendUvarint(b, uint64(p.MaxIterations))
	return binary.AppendUvarint(b, uint64(p.Expansion))
}

// DecodeRecord reads the record at the start of b and returns its length. Byte
// strings of the record are slices of b. The error wraps bloomery.ErrCorrupt or
// bloomery.ErrVersion.
func DecodeRecord(b []byte) (Record, int, error) {
	var r Record
	n, err := r.Decode(b)
	if err != nil {
		return Record{}, 0, err
	}
	return r, n, nil
}

// Decode is DecodeRecord into r, whose lists it uses again: a replay decodes
// millions of records into one.
func (r *Record) Decode(b []byte) (int, error) {
	if len(b) < 2 {
		return 0, corrupt("record cut short")
	}
	if b[0] != recordVersion {
		return 0, fmt.Errorf("store: decode: %w: record of version %d, this release reads %d: a later one is needed", bloomery.ErrVersion, b[0], recordVersion)
	}
	*r = Record{Op: Op(b[1]), Digests: r.Digests[:0], Hashes: r.Hashes[:0], Names: r.Names[:0], IDs: r.IDs[:0]}
	has, ok := fields[r.Op]
	if !ok {
		return 0, fmt.Errorf("store: decode: %w: operation %d, which this release does not have: a later one is needed", bloomery.ErrVersion, r.Op)
	}
	d := decoder{rest: b[2:]}
	r.Origin = Origin{d.uvarint(), d.uvarint()}
	d.fields(r, has)
	if d.bad {
		return 0, corrupt("record cut short")
	}
	if r.Op == OpSetMany && len(r.Names)%2 != 0 {
		return 0, corrupt("a name without a value")
	}
	return len(b) - len(d.rest), nil
}

func corrupt(what string) error {
	return fmt.Errorf("store: decode: %w: %s", bloomery.ErrCorrupt, what)
}

// decoder reads values until one is cut short; from then on all are zero.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) fields(r *Record, has field) {
	if has&fieldFlags != 0 {
		r.Flags = d.byte()
	}
	if has&fieldID != 0 {
		r.Index, r.ID = uint32(d.uvarint()), d.uvarint()
	}
	if has&fieldAt != 0 {
		r.At = d.varint()
	}
	if has&fieldDeadline != 0 {
		r.Deadline = d.varint()
	}
	if has&fieldName != 0 {
		r.Name = d.bytes()
	}
	if has&fieldOther != 0 {
		r.Other = d.bytes()
	}
	if has&fieldNames != 0 {
		for n := d.uvarint(); n > 0 && !d.bad; n-- {
			r.Names = append(r.Names, d.bytes())
		}
	}
	if has&fieldIDs != 0 {
		for n := d.uvarint(); n > 0 && !d.bad; n-- {
			r.IDs = append(r.IDs, d.uvarint())
		}
	}
	if has&fieldValue != 0 {
		r.Value = d.bytes()
	}
	if has&fieldPosition != 0 {
		r.Position = d.varint()
	}
	if has&fieldRoom != 0 {
		r.Room = d.uvarint() - 1
	}
	if has&fieldLimit != 0 {
		r.Limit = d.uvarint()
	}
	if has&fieldDigests != 0 {
		r.Digests = d.digests(r.Digests)
	}
	if has&fieldHashes != 0 {
		r.Hashes = d.hashes(r.Hashes)
	}
	if has&fieldBloom != 0 {
		r.Bloom = redisbloom.BloomParams{
			ErrorRate: math.Float64frombits(d.uint64()), Capacity: d.uvarint(),
			Expansion: uint32(d.uvarint()), NonScaling: d.byte() != 0,
		}
	}
	if has&fieldCuckoo != 0 {
		r.Cuckoo = redisbloom.CuckooParams{
			Capacity: d.uvarint(), BucketSize: uint16(d.uvarint()),
			MaxIterations: uint16(d.uvarint()), Expansion: uint16(d.uvarint()),
		}
	}
}

func (d *decoder) take(n uint64) []byte {
	if d.bad || n > uint64(len(d.rest)) {
		d.bad = true
		return nil
	}
	v := d.rest[:n:n]
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) byte() byte {
	if v := d.take(1); v != nil {
		return v[0]
	}
	return 0
}

func (d *decoder) uint64() uint64 {
	if v := d.take(8); v != nil {
		return binary.LittleEndian.Uint64(v)
	}
	return 0
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) bytes() []byte { return d.take(d.uvarint()) }

func (d *decoder) digests(ds []redisbloom.Digest) []redisbloom.Digest {
	n := d.uvarint()
	if n > uint64(len(d.rest))/16 {
		d.bad = true
		return nil
	}
	b := d.take(16 * n)
	ds = slices.Grow(ds, int(n))[:n]
	for i := range ds {
		ds[i] = redisbloom.Digest{A: binary.LittleEndian.Uint64(b[16*i:]), B: binary.LittleEndian.Uint64(b[16*i+8:])}
	}
	return ds
}

func (d *decoder) hashes(hs []uint64) []uint64 {
	n := d.uvarint()
	if n > uint64(len(d.rest))/8 {
		d.bad = true
		return nil
	}
	b := d.take(8 * n)
	hs = slices.Grow(hs, int(n))[:n]
	for i := range hs {
		hs[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return hs
}
