package io.backscroll;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import io.backscroll.v1.ErrorReason;
import io.grpc.protobuf.StatusProto;
import java.util.Map;
import java.util.Optional;

/**
 * Why a call failed.
 *
 * @param reason one of a closed set; ERROR_REASON_UNSPECIFIED where this client is older than the server's reason
 * @param field the field of the request at fault; empty where it is none
 * @param metadata what the comment of the reason names
 */
public record Cause(ErrorReason reason, String field, Map<String, String> metadata) {

  /** The cause that an exception of a stub carries; what gRPC itself answers has none. */
  public static Optional<Cause> of(Throwable error) {
    com.google.rpc.Status status = StatusProto.fromThrowable(error);
    if (status == null) {
      return Optional.empty();
    }
    return status.getDetailsList().stream()
        .filter(detail -> detail.is(ErrorInfo.class))
        .findFirst()
        .map(Cause::read);
  }

  private static Cause read(Any detail) {
    ErrorInfo info;
    try {
      info = detail.unpack(ErrorInfo.class);
    } catch (InvalidProtocolBufferException broken) {
      throw new IllegalArgumentException("the details of the status are broken", broken);
    }
    Map<String, String> metadata = info.getMetadataMap();
    return new Cause(reason(info.getReason()), metadata.getOrDefault("field", ""), metadata);
  }

  private static ErrorReason reason(String name) {
    try {
      return ErrorReason.valueOf("ERROR_REASON_" + name);
    } catch (IllegalArgumentException unknown) {
      return ErrorReason.ERROR_REASON_UNSPECIFIED;
    }
  }
}
