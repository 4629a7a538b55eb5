package resize

// TryFold is for tests.
var TryFold = tryFold
