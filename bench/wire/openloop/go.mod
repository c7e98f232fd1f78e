module sojourn/bench/openloop

go 1.24
