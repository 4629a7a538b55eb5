package admission_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/bloomery/bloomery/contrib/admission"
)

// A door before the origin of a shared cache: what is asked for once is not stored.
func ExampleDoor_Handler() {
	origin := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=3600")
		_, _ = fmt.Fprint(w, "an image")
	})
	door, err := admission.Config{Requests: 1_000_000}.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	h := door.Handler(origin)
	for range 2 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://example.org/image.png", nil))
		fmt.Println(w.Header().Get("Cache-Control"))
	}
	// Output:
	// private, max-age=3600
	// public, max-age=3600
}

// A door before a cache that Go code asks.
func ExampleDoor_Seen() {
	door, err := admission.Config{Requests: 1_000_000}.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	cache := map[string]string{}
	get := func(key string) string {
		if value, ok := cache[key]; ok {
			return value
		}
		value := "computed for " + key
		if door.Seen([]byte(key)) {
			cache[key] = value
		}
		return value
	}
	for range 2 {
		get("alice")
		fmt.Println(len(cache))
	}
	// Output:
	// 0
	// 1
}
