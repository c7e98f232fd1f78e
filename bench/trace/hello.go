// A server of net/http as people write it: 4 KiB for every request, on the port of the first argument.
package main

import (
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	page := []byte(strings.Repeat("x", 4096))
	http.HandleFunc("/", func(reply http.ResponseWriter, _ *http.Request) {
		if _, err := reply.Write(page); err != nil {
			log.Print(err)
		}
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
