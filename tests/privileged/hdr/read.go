// Prints count and 99th percentile of the histogram in the first argument, base64.
package main

import (
	"fmt"
	"os"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func main() {
	histogram, err := hdrhistogram.Decode([]byte(os.Args[1]))
	if err != nil {
		panic(err)
	}
	fmt.Println(histogram.TotalCount(), histogram.ValueAtPercentile(99))
}
