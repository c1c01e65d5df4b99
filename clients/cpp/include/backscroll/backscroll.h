// A connection to a Backscroll server, with the limits and retries that suit it, and why a call failed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/status.h>

namespace backscroll {

// What a bot on the server's machine never sets.
struct Options {
  // PEM of the authorities to trust. Given: TLS. An empty text: TLS with the authorities the system trusts.
  std::optional<std::string> tls_ca;
  // Sent with every call as `authorization: Bearer TOKEN`; only over TLS.
  std::string token;
  // gRPC's service config as JSON. Empty: AppendMessages and BuildContext are repeated while the server is away.
  std::string service_config;
};

// A channel for the stubs that gRPC generates. It connects with the first call, and again whenever the server is back.
// Threads may share it. Throws std::invalid_argument for a token without TLS.
std::shared_ptr<grpc::Channel> Connect(const std::string& address = "127.0.0.1:7171", const Options& options = {});

// Why a call failed.
struct Cause {
  // One of backscroll.v1.ErrorReason, without ERROR_REASON_. Empty: the status is gRPC's own, or OK.
  std::string reason;
  // The field of the request at fault. Empty: it is none.
  std::string field;
  // What the comment of the reason names.
  std::map<std::string, std::string> metadata;
};

// The cause in the details of a status.
Cause CauseOf(const grpc::Status& status);

}  // namespace backscroll
