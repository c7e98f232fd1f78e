// An open loop of Go's own HTTP client: each request is sent when it is due, whatever became of those
// before it. It writes how many were lost, by what the client said, as JSON: what a usual client loses.
//
// A request is lost if the client gives an error, if its status is not the one that is expected, if its
// body cannot be read to the end, or, with -grpc, if its grpc-status is not 0.
package main

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

type result struct {
	Requests int            `json:"requests"`
	Lost     map[string]int `json:"lost"`
	Bytes    int64          `json:"bytes"`
}

func main() {
	url := flag.String("url", "", "what is asked for")
	rate := flag.Float64("rate", 100, "requests/s, Poisson")
	seconds := flag.Float64("seconds", 5, "length")
	connections := flag.Int("connections", 16, "most connections; with HTTP/2 Go takes one")
	method := flag.String("method", "GET", "method")
	size := flag.Int("body", 0, "bytes of each request's body")
	header := flag.String("header", "", "NAME: VALUE, several with | between them")
	status := flag.Int("status", 200, "status that is a success")
	plain2 := flag.Bool("h2c", false, "HTTP/2 without TLS")
	two := flag.Bool("h2", false, "HTTP/2 over TLS; else HTTP/1.1")
	calls := flag.Bool("grpc", false, "calls of gRPC with an empty message")
	flag.Parse()

	protocols := new(http.Protocols)
	protocols.SetHTTP1(!*plain2 && !*two)
	protocols.SetHTTP2(*two)
	protocols.SetUnencryptedHTTP2(*plain2)
	client := &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{
			Protocols:             protocols,
			TLSClientConfig:       &tls.Config{InsecureSkipVerify: true},
			MaxConnsPerHost:       *connections,
			MaxIdleConnsPerHost:   *connections,
			ExpectContinueTimeout: time.Second,
			DisableCompression:    true,
		},
	}
	ask := func() (int64, error) {
		var body io.Reader
		if *calls {
			body = strings.NewReader("\x00\x00\x00\x00\x00")
		} else if *size > 0 {
			body = strings.NewReader(strings.Repeat("x", *size))
		}
		request, err := http.NewRequest(*method, *url, body)
		if err != nil {
			return 0, err
		}
		for _, line := range strings.Split(*header, "|") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				request.Header.Set(name, value)
			}
		}
		if *calls {
			request.Header.Set("content-type", "application/grpc")
			request.Header.Set("te", "trailers")
		}
		reply, err := client.Do(request)
		if err != nil {
			return 0, err
		}
		defer reply.Body.Close()
		bytes, err := io.Copy(io.Discard, reply.Body)
		if err != nil {
			return bytes, err
		}
		if reply.StatusCode != *status {
			return bytes, fmt.Errorf("HTTP %d", reply.StatusCode)
		}
		if told := reply.Trailer.Get("grpc-status"); *calls && told != "0" {
			return bytes, fmt.Errorf("grpc-status %q", told+reply.Header.Get("grpc-status"))
		}
		return bytes, nil
	}

	var (
		all  sync.WaitGroup
		lock sync.Mutex
		got  = result{Lost: map[string]int{}}
	)
	start, due := time.Now(), 0.0
	for {
		due += rand.ExpFloat64() / *rate
		if due > *seconds {
			break
		}
		time.Sleep(time.Until(start.Add(time.Duration(due * 1e9))))
		all.Add(1)
		go func() {
			defer all.Done()
			bytes, err := ask()
			lock.Lock()
			defer lock.Unlock()
			got.Requests++
			got.Bytes += bytes
			if err != nil {
				words := strings.Split(err.Error(), ": ")
				got.Lost[words[len(words)-1]]++
			}
		}()
	}
	all.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(got); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
