// Writes each line of standard input, a user and what a device of theirs has posted, to the broker.
package main

import (
	"bufio"
	"os"
	"strings"
)

func main() {
	client, err := connect(os.Args[1])
	if err != nil {
		panic(err)
	}
	defer client.Close()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		user, body, _ := strings.Cut(lines.Text(), "\t")
		if err := write(client, user, []byte(body)); err != nil {
			panic(err)
		}
	}
}
