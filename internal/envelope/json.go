package envelope

import "fmt"

// NoJSON is the error of filters that are asked for JSON, or to be read from it: JSON
// of their fields would be {}, and no key would come back.
func NoJSON(pkg string) error {
	return fmt.Errorf("%s: a filter has no JSON form: take the bytes of MarshalBinary, which JSON holds as base64", pkg)
}
