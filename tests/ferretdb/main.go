// A server that speaks MongoDB's protocol, for tests: FerretDB on SQLite, in a folder, on loopback.
//
// It prints the address once it listens, and ends when its standard input does: with whoever started it.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	listener := ferretdb.ListenerConfig{TCP: "127.0.0.1:0"}
	if len(os.Args) == 4 {
		listener = ferretdb.ListenerConfig{TLS: "127.0.0.1:0", TLSCertFile: os.Args[2], TLSKeyFile: os.Args[3]}
	}
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  listener,
		Handler:   "sqlite",
		SQLiteURL: "file:" + os.Args[1] + "/",
		Logger:    slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		fmt.Println(server.MongoDBURI())
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	_ = server.Run(ctx)
}
