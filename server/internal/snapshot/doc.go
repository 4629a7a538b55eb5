// Package snapshot keeps the contents of a [store.State] in files: part files, and a
// manifest that says what is in them. Both doors use it.
//
// A door orders records in lanes. The local door has one, its log; a cluster has one
// for the catalogue, which is the first, and several for parts. A position is a place
// in one lane: bytes of records in a log, messages in a stream. Every item of a
// manifest is noted at a position of its own lane, and a recovery reads each lane from
// [Lane].Seq on and leaves out records of a part that its item has already.
//
// A [Saver] takes snapshots of a door, which is a [Source]:
//
//  1. Cut: the lanes, then the catalogue. A filter that is made behind the
//     catalogue's position is not in the snapshot, so its records must be behind the
//     positions of the other lanes: those are noted before.
//  2. Freeze: every part that changed, each at a position between two messages of
//     its lane, not before that of the cut.
//  3. Settle: the door makes its lanes durable up to all those positions.
//  4. The manifest, renamed into place.
//  5. Taken: the door removes whatever is older.
//
// [Read], [Load] and [Loaded.Fill] are the way back.
package snapshot
