// Runs the example's function: prints the snapshot of the second argument's user, read from the first's Redis, for a
// device that holds what the third one names.
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
	snapshot, err := snapshotOfList(connection, os.Args[2], os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(snapshot); err != nil {
		log.Fatal(err)
	}
}
