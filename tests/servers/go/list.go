// Runs the example's function: prints the snapshot of the second argument's user, read from the first's Redis.
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/gomodule/redigo/redis"
)

func main() {
	connection, err := redis.DialURL(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close()
	seen, err := seen(connection, os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(seen); err != nil {
		log.Fatal(err)
	}
}
