package io.backscroll;

import io.backscroll.v1.ContextServiceGrpc;
import io.backscroll.v1.ContextServiceGrpc.ContextServiceBlockingStub;
import io.backscroll.v1.HistoryServiceGrpc;
import io.backscroll.v1.HistoryServiceGrpc.HistoryServiceBlockingStub;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A connection to a server, with the limits and retries that suit it. It connects with the first call and again whenever
 * the server is back. Threads may share it.
 *
 * <p>Stubs are those that gRPC generates. Give each call a deadline: {@code withDeadlineAfter}.
 */
public final class Backscroll implements AutoCloseable {
  private static final int RECEIVE_LIMIT_BYTES = 16 << 20;

  /** What is safe to repeat, and what bots call often. Left out is StreamChat: it calls a model. */
  private static final Map<String, List<String>> RETRIED =
      Map.of(
          ContextServiceGrpc.SERVICE_NAME,
          List.of("BuildContext", "Compact", "ListPeriodSummaries"),
          HistoryServiceGrpc.SERVICE_NAME,
          List.of(
              "AliasMessage",
              "AppendMessages",
              "EditMessage",
              "ExportMessages",
              "GetChannel",
              "GetThread",
              "ListChannels",
              "ListMembers",
              "ListMessages",
              "ListPinnedMessages",
              "PinMessage",
              "RecallMessage",
              "SearchMessages",
              "UnpinMessage",
              "UpsertMembers",
              "WaitForIndex"));

  private static final Map<String, Object> RETRY_POLICY =
      Map.of(
          "maxAttempts", 4.0,
          "initialBackoff", "0.1s",
          "backoffMultiplier", 3.0,
          "maxBackoff", "1s",
          "retryableStatusCodes", List.of("UNAVAILABLE"));

  private final ManagedChannel channel;

  private Backscroll(ManagedChannel channel) {
    this.channel = channel;
  }

  /** Connects to a server on this machine, without TLS: {@code 127.0.0.1:7171}. */
  public static Backscroll connect(String address) {
    return connect(address, InsecureChannelCredentials.create());
  }

  /** Connects with TLS, with a {@link BearerToken}, or both: {@code CompositeChannelCredentials.create(tls, token)}. */
  public static Backscroll connect(String address, ChannelCredentials credentials) {
    return connect(address, credentials, serviceConfig());
  }

  /** Connects with a service config in the place of that of this class. */
  public static Backscroll connect(
      String address, ChannelCredentials credentials, Map<String, ?> serviceConfig) {
    return new Backscroll(
        Grpc.newChannelBuilder(address, credentials)
            .defaultServiceConfig(serviceConfig)
            .disableServiceConfigLookUp()
            .maxInboundMessageSize(RECEIVE_LIMIT_BYTES)
            .keepAliveTime(60, TimeUnit.SECONDS)
            .keepAliveTimeout(20, TimeUnit.SECONDS)
            .build());
  }

  /** Stores what is said and reads it back. */
  public HistoryServiceBlockingStub history() {
    return HistoryServiceGrpc.newBlockingStub(channel);
  }

  /** Picks what a model must see. */
  public ContextServiceBlockingStub context() {
    return ContextServiceGrpc.newBlockingStub(channel);
  }

  /** For stubs of other services, and for asynchronous ones. */
  public Channel channel() {
    return channel;
  }

  /** Ends the connection, and with it the calls that go on. */
  @Override
  public void close() {
    channel.shutdownNow();
  }

  private static Map<String, ?> serviceConfig() {
    List<Map<String, String>> names =
        RETRIED.entrySet().stream()
            .flatMap(
                service ->
                    service.getValue().stream()
                        .map(method -> Map.of("service", service.getKey(), "method", method)))
            .toList();
    return Map.of("methodConfig", List.of(Map.of("name", names, "retryPolicy", RETRY_POLICY)));
  }
}
