package io.backscroll;

import io.grpc.CallCredentials;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.SecurityLevel;
import io.grpc.Status;
import java.net.InetSocketAddress;
import java.util.concurrent.Executor;

/** Sends a token with each call. Without TLS it goes to this machine only. */
public final class BearerToken extends CallCredentials {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final Metadata headers = new Metadata();

  /** A token as the server's operator gave it. */
  public BearerToken(String token) {
    if (token.isEmpty() || !token.chars().allMatch(c -> c > ' ' && c < 127)) {
      throw new IllegalArgumentException("the token is empty or holds what no header can carry");
    }
    headers.put(AUTHORIZATION, "Bearer " + token);
  }

  @Override
  public void applyRequestMetadata(RequestInfo call, Executor executor, MetadataApplier applier) {
    if (call.getSecurityLevel() == SecurityLevel.PRIVACY_AND_INTEGRITY || isLocal(call)) {
      applier.apply(headers);
    } else {
      applier.fail(
          Status.UNAUTHENTICATED.withDescription("the token would travel unencrypted; give TLS credentials"));
    }
  }

  private static boolean isLocal(RequestInfo call) {
    return call.getTransportAttrs().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR) instanceof InetSocketAddress peer
        && peer.getAddress() != null
        && peer.getAddress().isLoopbackAddress();
  }
}
