#include "backscroll/backscroll.h"

#include <stdexcept>

#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>

#include "backscroll/client/status.pb.h"
#include "service_config.h"

namespace backscroll {
namespace {

constexpr int kReceiveLimitBytes = 16 << 20;
// A request above this is sent once only; gRPC's own limit, 256 KiB, is less than a batch may have.
constexpr int kRetryBufferBytes = 4 << 20;

std::shared_ptr<grpc::ChannelCredentials> Credentials(const Options& options) {
  if (!options.tls_ca) {
    if (!options.token.empty()) throw std::invalid_argument("a token without TLS would travel unencrypted: set tls_ca");
    return grpc::InsecureChannelCredentials();
  }
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = *options.tls_ca;
  auto channel = grpc::SslCredentials(tls);
  if (options.token.empty()) return channel;
  return grpc::CompositeChannelCredentials(channel, grpc::AccessTokenCredentials(options.token));
}

}  // namespace

std::shared_ptr<grpc::Channel> Connect(const std::string& address, const Options& options) {
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(options.service_config.empty() ? kServiceConfig : options.service_config);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_PER_RPC_RETRY_BUFFER_SIZE, kRetryBufferBytes);
  arguments.SetMaxReceiveMessageSize(kReceiveLimitBytes);
  // The server takes a ping every 30 s at most and closes on more.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // A sidecar that restarts is back within seconds; gRPC's own waits grow to two minutes.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  // http_proxy is meant for the web, never for the process next door.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, Credentials(options), arguments);
}

Cause CauseOf(const grpc::Status& status) {
  Cause cause;
  client::Status details;
  if (!details.ParseFromString(status.error_details())) return cause;
  for (const auto& detail : details.details()) {
    client::ErrorInfo info;
    if (detail.type_url() != "type.googleapis.com/google.rpc.ErrorInfo" || !info.ParseFromString(detail.value())) continue;
    cause.reason = info.reason();
    cause.metadata = {info.metadata().begin(), info.metadata().end()};
    if (const auto field = cause.metadata.find("field"); field != cause.metadata.end()) cause.field = field->second;
    break;
  }
  return cause;
}

}  // namespace backscroll
