package sizing

import "errors"

// Errors of this package, to be asked for with errors.Is. The message that
// wraps them names the parameter and its value.
var (
	// ErrParameter means that a parameter, or a set of them, makes no sense.
	ErrParameter = errors.New("bad parameter")
	// ErrTooLarge means that the answer is more than [MaxBits] bits or keys.
	ErrTooLarge = errors.New("too large")
)
