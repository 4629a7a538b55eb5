// Package teach makes filters visible. A [Script] is a small filter and what is
// done with it; [Script.Play] does it and returns a [Scene]: every bit, counter
// or slot after every step, which keys set it, and what happened in words.
//
// The filters are the real ones of this module, with arrays of some hundred
// bits. Which bits belong to a key is found without a second implementation:
// they are the bits of a filter of the same shape that holds this key alone.
// Some lessons use an array of ten bits with positions that are given, so that
// they can be followed with pencil and paper; that is less than a real filter
// has, so they have a model of their own, [given].
//
// Everything here is bounded: the size of an array, the number of steps and of
// keys, the length of a key. Nothing is kept between calls, so a scene is a link.
package teach
