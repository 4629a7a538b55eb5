package filter

// Unfolded is for tests.
var Unfolded = unfolded
