// Posts standard input through the client: the service's address, the user, the route, Seen-Held and Seen-Pending.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	service = os.Args[1]
	headers := http.Header{}
	for index, name := range []string{"Seen-Held", "Seen-Pending"} {
		if value := os.Args[4+index]; value != "" {
			headers.Set(name, value)
		}
	}
	response, err := seenguard(os.Args[2], os.Args[3], os.Stdin, headers)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d\n%s", response.StatusCode, body)
}
