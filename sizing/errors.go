package sizing

import "fmt"

// refuse returns an error of this package: the operation, then the cause,
// which wraps a sentinel of package bloomery. errors.Unwrap gives the cause
// alone, for callers that put a name of their own in front of it.
func refuse(operation string, sentinel error, format string, args ...any) error {
	return about(operation, fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(format, args...)))
}

// about puts the name of the operation before a cause.
func about(operation string, cause error) error {
	return fmt.Errorf("sizing: %s: %w", operation, cause)
}
