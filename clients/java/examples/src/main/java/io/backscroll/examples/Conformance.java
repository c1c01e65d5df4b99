package io.backscroll.examples;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.reflect.TypeToken;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import io.backscroll.Backscroll;
import io.backscroll.BearerToken;
import io.backscroll.Cause;
import io.backscroll.v1.AppendMessagesRequest;
import io.backscroll.v1.BuildContextRequest;
import io.backscroll.v1.ContextServiceGrpc;
import io.backscroll.v1.ContextServiceGrpc.ContextServiceStub;
import io.backscroll.v1.EditMessageRequest;
import io.backscroll.v1.ExportMessagesRequest;
import io.backscroll.v1.GetChannelRequest;
import io.backscroll.v1.GetChannelResponse;
import io.backscroll.v1.HistoryServiceGrpc;
import io.backscroll.v1.HistoryServiceGrpc.HistoryServiceStub;
import io.backscroll.v1.ImportMessagesRequest;
import io.backscroll.v1.ListMessagesRequest;
import io.backscroll.v1.StreamChatRequest;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.CompositeChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.Status;
import io.grpc.TlsChannelCredentials;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.health.v1.HealthGrpc.HealthStub;
import io.grpc.reflection.v1alpha.ServerReflectionGrpc;
import io.grpc.reflection.v1alpha.ServerReflectionGrpc.ServerReflectionStub;
import io.grpc.reflection.v1alpha.ServerReflectionRequest;
import io.grpc.stub.AbstractStub;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.StreamObserver;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** The driver of clients/conformance: makes the calls it is told of on standard input, and says what came. */
public final class Conformance {

  /** A call of any of the four shapes. */
  private interface Call {
    void start(Channel channel, long deadlineMs, JsonArray requests, Responses<?> responses) throws IOException;
  }

  private interface OneRequest<S, Q, A> {
    void call(S stub, Q request, StreamObserver<A> responses);
  }

  private interface ManyRequests<S, Q, A> {
    StreamObserver<Q> call(S stub, StreamObserver<A> responses);
  }

  private static final Map<String, Call> CALLS =
      Map.of(
          "backscroll.v1.HistoryService/AppendMessages",
          history(HistoryServiceStub::appendMessages, AppendMessagesRequest.getDefaultInstance()),
          "backscroll.v1.HistoryService/EditMessage",
          history(HistoryServiceStub::editMessage, EditMessageRequest.getDefaultInstance()),
          "backscroll.v1.HistoryService/ListMessages",
          history(HistoryServiceStub::listMessages, ListMessagesRequest.getDefaultInstance()),
          "backscroll.v1.HistoryService/GetChannel",
          history(Conformance::getChannel, GetChannelRequest.getDefaultInstance()),
          "backscroll.v1.HistoryService/ExportMessages",
          history(HistoryServiceStub::exportMessages, ExportMessagesRequest.getDefaultInstance()),
          "backscroll.v1.HistoryService/ImportMessages",
          many(
              HistoryServiceGrpc::newStub,
              HistoryServiceStub::importMessages,
              ImportMessagesRequest.getDefaultInstance()),
          "backscroll.v1.ContextService/BuildContext",
          context(ContextServiceStub::buildContext, BuildContextRequest.getDefaultInstance()),
          "backscroll.v1.ContextService/StreamChat",
          context(ContextServiceStub::streamChat, StreamChatRequest.getDefaultInstance()),
          "grpc.health.v1.Health/Check",
          one(HealthGrpc::newStub, HealthStub::check, HealthCheckRequest.getDefaultInstance()),
          "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
          many(
              ServerReflectionGrpc::newStub,
              ServerReflectionStub::serverReflectionInfo,
              ServerReflectionRequest.getDefaultInstance()));

  /** A reference to the method would be ambiguous: every stub has a getChannel() of its own. */
  private static void getChannel(
      HistoryServiceStub stub, GetChannelRequest request, StreamObserver<GetChannelResponse> responses) {
    stub.getChannel(request, responses);
  }

  private static final Map<String, Backscroll> TARGETS = new HashMap<>();

  private static <Q extends Message, A extends Message> Call history(OneRequest<HistoryServiceStub, Q, A> method, Q empty) {
    return one(HistoryServiceGrpc::newStub, method, empty);
  }

  private static <Q extends Message, A extends Message> Call context(OneRequest<ContextServiceStub, Q, A> method, Q empty) {
    return one(ContextServiceGrpc::newStub, method, empty);
  }

  private static <S extends AbstractStub<S>, Q extends Message, A extends Message> Call one(
      Function<Channel, S> newStub, OneRequest<S, Q, A> method, Q empty) {
    return (channel, deadlineMs, requests, responses) ->
        method.call(
            newStub.apply(channel).withDeadlineAfter(deadlineMs, TimeUnit.MILLISECONDS),
            parse(requests.get(0), empty),
            responses.typed());
  }

  private static <S extends AbstractStub<S>, Q extends Message, A extends Message> Call many(
      Function<Channel, S> newStub, ManyRequests<S, Q, A> method, Q empty) {
    return (channel, deadlineMs, requests, responses) -> {
      StreamObserver<Q> sender =
          method.call(
              newStub.apply(channel).withDeadlineAfter(deadlineMs, TimeUnit.MILLISECONDS), responses.typed());
      for (JsonElement request : requests) {
        sender.onNext(parse(request, empty));
      }
      sender.onCompleted();
    };
  }

  @SuppressWarnings("unchecked") // a builder of Q builds a Q
  private static <Q extends Message> Q parse(JsonElement json, Q empty) throws InvalidProtocolBufferException {
    Message.Builder builder = empty.newBuilderForType();
    JsonFormat.parser().merge(json.toString(), builder);
    return (Q) builder.build();
  }

  /** Collects what a call answers, and cancels it after so many. */
  private static final class Responses<Q> implements ClientResponseObserver<Q, Message> {
    private final int cancelAfter;
    private final JsonArray collected = new JsonArray();
    private final CompletableFuture<Throwable> ended = new CompletableFuture<>();
    private ClientCallStreamObserver<Q> call;

    Responses(int cancelAfter) {
      this.cancelAfter = cancelAfter;
    }

    @SuppressWarnings("unchecked") // any message is taken
    <A extends Message> StreamObserver<A> typed() {
      return (StreamObserver<A>) this;
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<Q> started) {
      call = started;
    }

    @Override
    public void onNext(Message response) {
      if (collected.size() == cancelAfter) {
        return; // it was on its way when the call was cancelled
      }
      try {
        collected.add(JsonParser.parseString(JsonFormat.printer().print(response)));
      } catch (InvalidProtocolBufferException unknownAny) {
        throw new IllegalStateException(unknownAny);
      }
      if (collected.size() == cancelAfter) {
        call.cancel("enough was read", null);
      }
    }

    @Override
    public void onError(Throwable error) {
      ended.complete(error);
    }

    @Override
    public void onCompleted() {
      ended.complete(null);
    }
  }

  private static Backscroll connect(String target) {
    var insecure = InsecureChannelCredentials.create();
    return switch (target) {
      case "plain" -> connect("BACKSCROLL_ADDRESS", insecure);
      case "retry" -> connect("BACKSCROLL_RETRY_ADDRESS", insecure);
      case "silent" -> connect("BACKSCROLL_SILENT_ADDRESS", insecure);
      case "tls" -> connect("BACKSCROLL_TLS_ADDRESS", tls());
      case "token_tls" -> {
        var token = new BearerToken(System.getenv("BACKSCROLL_TOKEN"));
        yield connect("BACKSCROLL_TLS_ADDRESS", CompositeChannelCredentials.create(tls(), token));
      }
      default -> throw new IllegalArgumentException("no target is called " + target);
    };
  }

  private static Backscroll connect(String addressVariable, ChannelCredentials credentials) {
    var type = new TypeToken<Map<String, Object>>() {};
    Map<String, ?> config = new Gson().fromJson(System.getenv("BACKSCROLL_SERVICE_CONFIG"), type);
    return Backscroll.connect(System.getenv(addressVariable), credentials, config);
  }

  private static ChannelCredentials tls() {
    try {
      return TlsChannelCredentials.newBuilder().trustManager(new File(System.getenv("BACKSCROLL_TLS_CA"))).build();
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  private static JsonObject run(JsonObject step) throws IOException {
    Call call = CALLS.get(step.get("call").getAsString());
    if (call == null) {
      throw new IllegalArgumentException("no stub of " + step.get("call"));
    }
    Channel channel = TARGETS.computeIfAbsent(step.get("target").getAsString(), Conformance::connect).channel();
    var responses = new Responses<>(step.has("cancel_after") ? step.get("cancel_after").getAsInt() : -1);
    call.start(channel, step.get("deadline_ms").getAsLong(), step.getAsJsonArray("requests"), responses);
    Throwable error = responses.ended.join();

    Optional<Cause> cause = Optional.ofNullable(error).flatMap(Cause::of);
    var answer = new JsonObject();
    answer.add("step", step.get("step"));
    answer.addProperty("status", error == null ? "OK" : Status.fromThrowable(error).getCode().name());
    answer.addProperty("reason", cause.map(known -> known.reason().name().replace("ERROR_REASON_", "")).orElse(""));
    answer.addProperty("field", cause.map(Cause::field).orElse(""));
    answer.add("responses", responses.collected);
    return answer;
  }

  public static void main(String[] args) throws IOException {
    var steps = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    var answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    try {
      for (String line; (line = steps.readLine()) != null; ) {
        answers.println(run(JsonParser.parseString(line).getAsJsonObject()));
      }
    } finally {
      TARGETS.values().forEach(Backscroll::close);
    }
  }
}
