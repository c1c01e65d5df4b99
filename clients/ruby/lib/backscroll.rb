# frozen_string_literal: true

require "google/protobuf/well_known_types"
require "grpc"
require "google/rpc/error_details_pb"
require "backscroll/v1/context_services_pb"
require "backscroll/v1/history_services_pb"

# Clients of a Backscroll server.
module Backscroll
  # What is safe to repeat, in gRPC's own form: AppendMessages and BuildContext, while the server is away.
  SERVICE_CONFIG = File.read(File.expand_path("../../service-config.json", __dir__), encoding: "UTF-8").freeze

  RECEIVE_LIMIT_BYTES = 16 << 20
  # A request above this is sent once only; gRPC's own limit, 256 KiB, is less than a batch may have.
  RETRY_BUFFER_BYTES = 4 << 20
  private_constant :RECEIVE_LIMIT_BYTES, :RETRY_BUFFER_BYTES

  # A connection with the limits and retries that suit the server. It connects with the first call, and again whenever
  # the server is back. Threads may share it.
  class Client
    # tls_ca: PEM of the authorities to trust; true: those that gRPC trusts. Left out: no TLS.
    # token: sent with every call as `authorization: Bearer TOKEN`, only over TLS.
    # timeout: seconds that a call may take where it is given no deadline of its own.
    def initialize(address = "127.0.0.1:7171", tls_ca: nil, token: nil, timeout: 10, service_config: SERVICE_CONFIG)
      @address = address
      @timeout = timeout
      @channel = GRPC::Core::Channel.new(address, options(service_config), credentials(tls_ca, token))
    end

    # Stores what is said and reads it back.
    def history = @history ||= stub(V1::HistoryService::Stub)

    # Picks what a model must see.
    def contexts = @contexts ||= stub(V1::ContextService::Stub)

    # A stub of any service, on this connection.
    def stub(type) = type.new(@address, nil, channel_override: @channel, timeout: @timeout)

    def close = @channel.close

    private

    def credentials(tls_ca, token)
      unless tls_ca
        raise ArgumentError, "a token without TLS would travel unencrypted: give tls_ca" if token

        return :this_channel_is_insecure
      end
      channel = tls_ca == true ? GRPC::Core::ChannelCredentials.new : GRPC::Core::ChannelCredentials.new(tls_ca)
      return channel unless token

      channel.compose(GRPC::Core::CallCredentials.new(->(_call) { { authorization: "Bearer #{token}" } }))
    end

    def options(service_config)
      {
        "grpc.service_config" => service_config,
        "grpc.service_config_disable_resolution" => 1,
        "grpc.per_rpc_retry_buffer_size" => RETRY_BUFFER_BYTES,
        "grpc.max_receive_message_length" => RECEIVE_LIMIT_BYTES,
        # The server takes a ping every 30 s at most and closes on more.
        "grpc.keepalive_time_ms" => 60_000,
        "grpc.keepalive_timeout_ms" => 20_000,
        "grpc.keepalive_permit_without_calls" => 1,
        "grpc.http2.max_pings_without_data" => 0,
        # A sidecar that restarts is back within seconds; gRPC's own waits grow to two minutes.
        "grpc.initial_reconnect_backoff_ms" => 100,
        "grpc.max_reconnect_backoff_ms" => 2_000,
        # http_proxy is meant for the web, never for the process next door.
        "grpc.enable_http_proxy" => 0
      }
    end
  end

  # Why a call failed: reason is one of V1::ErrorReason without its prefix, field the field of the request at fault.
  Cause = Struct.new(:reason, :field, :metadata, keyword_init: true) do
    # The cause in a GRPC::BadStatus; nil where the status is gRPC's own.
    def self.of(error)
      detail = error.to_rpc_status&.details&.find { |any| any.is(Google::Rpc::ErrorInfo) }
      return unless detail

      info = detail.unpack(Google::Rpc::ErrorInfo)
      new(reason: info.reason, field: info.metadata["field"].to_s, metadata: info.metadata.to_h)
    end
  end
end
