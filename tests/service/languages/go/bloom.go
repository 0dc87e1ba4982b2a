// Runs the example's function: inserts ids into filters of the real library, and prints the answers and the snapshot.
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
		Filters  int
		Insert   []string
		Ask      []string
		Held     string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&task); err != nil {
		log.Fatal(err)
	}
	filters := []*bloom.BloomFilter{}
	for len(filters) < task.Filters {
		filters = append(filters, bloom.NewWithEstimates(task.Capacity, task.Rate))
	}
	for index, id := range task.Insert {
		filters[index%task.Filters].AddString(id)
	}
	answers := []bool{}
	for _, id := range task.Ask {
		answer := false
		for _, filter := range filters {
			answer = answer || filter.TestString(id)
		}
		answers = append(answers, answer)
	}
	snapshot, err := snapshotOf(task.Held, filters...)
	if err != nil {
		log.Fatal(err)
	}
	text, err := filters[0].MarshalJSON()
	if err != nil {
		log.Fatal(err)
	}
	result := map[string]any{"snapshot": snapshot, "json": string(text), "answers": answers}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		log.Fatal(err)
	}
}
