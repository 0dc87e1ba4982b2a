// Runs the example's function: inserts ids into a filter of the real library, and prints its answers and the snapshot.
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/bits-and-blooms/bloom/v3"
)

func main() {
	var task struct {
		Capacity uint
		Rate     float64
		Insert   []string
		Ask      []string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&task); err != nil {
		log.Fatal(err)
	}
	filter := bloom.NewWithEstimates(task.Capacity, task.Rate)
	for _, id := range task.Insert {
		filter.AddString(id)
	}
	answers := []bool{}
	for _, id := range task.Ask {
		answers = append(answers, filter.TestString(id))
	}
	seen, err := seen(filter)
	if err != nil {
		log.Fatal(err)
	}
	text, err := filter.MarshalJSON()
	if err != nil {
		log.Fatal(err)
	}
	result := map[string]any{"seen": seen, "json": string(text), "answers": answers}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		log.Fatal(err)
	}
}
