// A whole bot: standard input is the chat platform, one event a line (clients/chat.jsonl).
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	pb "github.com/backscroll/backscroll/clients/go/backscroll/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Both calls are safe to repeat: what is stored already is a duplicate, and a build writes no history.
const retries = `{"methodConfig": [{
  "name": [{"service": "backscroll.v1.HistoryService", "method": "AppendMessages"},
           {"service": "backscroll.v1.ContextService", "method": "BuildContext"}],
  "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 3,
                  "retryableStatusCodes": ["UNAVAILABLE"]}}]}`

type event struct {
	Channel, ID, Text string
	UserID            string `json:"user_id"`
	UserName          string `json:"user_name"`
	TimeMs            int64  `json:"time_ms"`
	ReplyTo           string `json:"reply_to"`
	ForMe             bool   `json:"for_me"`
}

func main() {
	address := cmp.Or(os.Getenv("BACKSCROLL_ADDRESS"), "127.0.0.1:7171")
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(retries))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var said event
		if err := json.Unmarshal(lines.Bytes(), &said); err != nil {
			log.Fatal(err)
		}
		if err := hear(conn, &said); err != nil {
			log.Print(err)
		}
	}
}

func hear(conn *grpc.ClientConn, said *event) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	message := &pb.Message{Id: said.ID, Author: &pb.Author{Id: said.UserID, Name: said.UserName}, SentAtMs: said.TimeMs,
		Parts: []*pb.Part{{Content: &pb.Part_Text{Text: &pb.TextPart{Text: said.Text}}}}}
	if said.ReplyTo != "" {
		message.Reply = &pb.Reply{MessageId: said.ReplyTo}
	}
	stored, err := pb.NewHistoryServiceClient(conn).AppendMessages(ctx,
		&pb.AppendMessagesRequest{Channel: said.Channel, Messages: []*pb.Message{message}})
	if err != nil {
		return err
	}
	if result := stored.Results[0]; result.Refusal != pb.AppendRefusal_APPEND_REFUSAL_UNSPECIFIED {
		return fmt.Errorf("%s was not stored: %v %s", said.ID, result.Refusal, result.Field)
	}
	if !said.ForMe {
		return nil
	}
	built, err := pb.NewContextServiceClient(conn).BuildContext(ctx, &pb.BuildContextRequest{
		Channel: said.Channel, TriggerMessageId: &said.ID, SelfIds: []string{"cat-bot"}})
	if err == nil {
		fmt.Println(built.Text) // built.Payloads[0].Body is the request to post to a model
	}
	return err
}
