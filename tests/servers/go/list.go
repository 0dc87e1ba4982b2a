// Drives the document's function: what it reads from the Redis at the first argument's address for the second argument's user.
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
