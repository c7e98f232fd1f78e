// A service as one writes it with Go.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sort"
)

func main() {
	http.HandleFunc("/", func(reply http.ResponseWriter, _ *http.Request) {
		var words []string
		for n := 0; n < 100; n++ {
			words = append(words, fmt.Sprintf("word %d", n))
		}
		sort.Strings(words)
		json.NewEncoder(reply).Encode(map[string][]string{"words": words})
	})
	panic(http.ListenAndServe("127.0.0.1:18083", nil))
}
