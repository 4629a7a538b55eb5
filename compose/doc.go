// Package compose makes filters of filters.
//
//   - Window holds the keys of the last span of time: it forgets by dropping
//     whole generations.
//   - Layers asks one filter after the other and then an exact set, and counts what
//     each of them stopped. Its filters are written into one file.
//   - Quorum asks several independent filters and needs a number of them to agree.
//   - Striped makes any family safe for many goroutines.
//   - Corrected is told which answers of a filter of any family were wrong, and does not
//     give them again.
//
// A key is hashed once. Members that hold the same keys, layers and members of a
// quorum, get salted hashes, so that their false positives are independent.
//
//	w := compose.NewWindow(1_000_000, 0.01, 24) // a million keys a day, an hour per generation
//	w.AddString("alice")
//	w.Advance(w.Generation() + 1) // an hour later
//	w.ContainsString("alice")     // true for 24 hours
//
// # When to choose something else
//
// A window takes about three times the memory of a plain filter for the same keys,
// since it must be able to forget, and is sized for bursts. Where keys are removed
// one by one, take a cuckoo or a quotient filter; where the oldest may go at any
// time, counting.Stable.
package compose
