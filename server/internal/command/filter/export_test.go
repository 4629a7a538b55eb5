package filter

// TryFold is for tests.
var TryFold = tryFold
