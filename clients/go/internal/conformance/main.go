// The conformance driver for Go: clients/conformance/README.md says what it reads and writes.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"time"

	pb "github.com/backscroll/backscroll/clients/go/backscroll/v1"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

type step struct {
	Step, Call, Target string
	Requests           []json.RawMessage
	DeadlineMs         int  `json:"deadline_ms"`
	CancelAfter        *int `json:"cancel_after"`
}

type answer struct {
	Step      string            `json:"step"`
	Status    string            `json:"status"`
	Reason    string            `json:"reason"`
	Field     string            `json:"field"`
	Responses []json.RawMessage `json:"responses"`
}

// A call sends the requests and hands over each response; it ends with the status of the call.
type call func(ctx context.Context, conn *grpc.ClientConn, requests []json.RawMessage, take func(proto.Message)) error

var (
	history = pb.NewHistoryServiceClient
	builder = pb.NewContextServiceClient
	calls   = map[string]call{
		"backscroll.v1.HistoryService/AppendMessages": unary(history, pb.HistoryServiceClient.AppendMessages),
		"backscroll.v1.HistoryService/EditMessage":    unary(history, pb.HistoryServiceClient.EditMessage),
		"backscroll.v1.HistoryService/ListMessages":   unary(history, pb.HistoryServiceClient.ListMessages),
		"backscroll.v1.HistoryService/GetChannel":     unary(history, pb.HistoryServiceClient.GetChannel),
		"backscroll.v1.HistoryService/ExportMessages": serverStream(history, pb.HistoryServiceClient.ExportMessages),
		"backscroll.v1.HistoryService/ImportMessages": importMessages,
		"backscroll.v1.ContextService/BuildContext":   unary(builder, pb.ContextServiceClient.BuildContext),
		"backscroll.v1.ContextService/StreamChat":     serverStream(builder, pb.ContextServiceClient.StreamChat),
		"grpc.health.v1.Health/Check":                 unary(health.NewHealthClient, health.HealthClient.Check),

		"grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": askReflection,
	}
)

func unary[C, Q, R any](
	client func(grpc.ClientConnInterface) C, method func(C, context.Context, *Q, ...grpc.CallOption) (*R, error),
) call {
	return func(ctx context.Context, conn *grpc.ClientConn, requests []json.RawMessage, take func(proto.Message)) error {
		response, err := method(client(conn), ctx, parsed[Q](requests[0]))
		if err == nil {
			take(any(response).(proto.Message))
		}
		return err
	}
}

func serverStream[C, Q, R any](
	client func(grpc.ClientConnInterface) C,
	method func(C, context.Context, *Q, ...grpc.CallOption) (grpc.ServerStreamingClient[R], error),
) call {
	return func(ctx context.Context, conn *grpc.ClientConn, requests []json.RawMessage, take func(proto.Message)) error {
		stream, err := method(client(conn), ctx, parsed[Q](requests[0]))
		if err != nil {
			return err
		}
		return receive(stream.Recv, take)
	}
}

func importMessages(ctx context.Context, conn *grpc.ClientConn, requests []json.RawMessage, take func(proto.Message)) error {
	stream, err := history(conn).ImportMessages(ctx)
	if err != nil {
		return err
	}
	for _, one := range requests {
		if stream.Send(parsed[pb.ImportMessagesRequest](one)) != nil {
			break // CloseAndRecv says why
		}
	}
	response, err := stream.CloseAndRecv()
	if err == nil {
		take(response)
	}
	return err
}

func askReflection(ctx context.Context, conn *grpc.ClientConn, requests []json.RawMessage, take func(proto.Message)) error {
	stream, err := reflection.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		return err
	}
	for _, one := range requests {
		if stream.Send(parsed[reflection.ServerReflectionRequest](one)) != nil {
			break // Recv says why
		}
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	return receive(stream.Recv, take)
}

func receive[R any](next func() (*R, error), take func(proto.Message)) error {
	for {
		response, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		take(any(response).(proto.Message))
	}
}

func parsed[Q any](text json.RawMessage) *Q {
	request := new(Q)
	must(protojson.Unmarshal(text, any(request).(proto.Message)))
	return request
}

func open(target string) *grpc.ClientConn {
	address := os.Getenv(map[string]string{
		"plain": "BACKSCROLL_ADDRESS", "retry": "BACKSCROLL_RETRY_ADDRESS", "silent": "BACKSCROLL_SILENT_ADDRESS",
		"tls": "BACKSCROLL_TLS_ADDRESS", "token_tls": "BACKSCROLL_TLS_ADDRESS",
	}[target])
	transport := insecure.NewCredentials()
	options := []grpc.DialOption{grpc.WithDefaultServiceConfig(os.Getenv("BACKSCROLL_SERVICE_CONFIG"))}
	if target == "tls" || target == "token_tls" {
		transport = got(credentials.NewClientTLSFromFile(os.Getenv("BACKSCROLL_TLS_CA"), ""))
	}
	if target == "token_tls" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(os.Getenv("BACKSCROLL_TOKEN"))))
	}
	return got(grpc.NewClient(address, append(options, grpc.WithTransportCredentials(transport))...))
}

// bearer is a token that goes with every call, over TLS alone.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return true }

func do(asked step, conn *grpc.ClientConn) answer {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(asked.DeadlineMs)*time.Millisecond)
	defer cancel()
	told := answer{Step: asked.Step, Responses: []json.RawMessage{}}
	begin, known := calls[asked.Call]
	if !known {
		log.Fatalf("there is no stub of %s", asked.Call)
	}
	err := begin(ctx, conn, asked.Requests, func(response proto.Message) {
		if asked.CancelAfter != nil && len(told.Responses) >= *asked.CancelAfter {
			return
		}
		told.Responses = append(told.Responses, got(protojson.Marshal(response)))
		if asked.CancelAfter != nil && len(told.Responses) == *asked.CancelAfter {
			cancel()
		}
	})
	said := status.Convert(err)
	told.Status = code.Code(said.Code()).String()
	for _, detail := range said.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			told.Reason, told.Field = info.Reason, info.Metadata["field"]
		}
	}
	return told
}

func main() {
	conns := map[string]*grpc.ClientConn{}
	lines, out := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		must(err)
		var asked step
		must(json.Unmarshal(line, &asked))
		if conns[asked.Target] == nil {
			conns[asked.Target] = open(asked.Target)
		}
		must(out.Encode(do(asked, conns[asked.Target])))
	}
}

func got[T any](value T, err error) T {
	must(err)
	return value
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
