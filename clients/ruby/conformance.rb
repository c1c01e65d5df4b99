# frozen_string_literal: true

# Makes the calls that clients/conformance/README.md tells it to make, one line of JSON each.
require "json"
require "backscroll"
require "grpc/health/v1/health_services_pb"
require "grpc/reflection/v1alpha/reflection_services_pb"

SERVICES = [
  Backscroll::V1::ContextService,
  Backscroll::V1::HistoryService,
  Grpc::Health::V1::Health,
  Grpc::Reflection::V1alpha::ServerReflection
].to_h { |service| [service::Service.service_name, service] }.freeze

STATUS_NAMES = GRPC::Core::StatusCodes.constants.to_h { |name| [GRPC::Core::StatusCodes.const_get(name), name.to_s] }.freeze

# One channel a target, kept for the whole run.
CLIENTS = Hash.new do |clients, target|
  address, options =
    case target
    when "plain" then ["BACKSCROLL_ADDRESS", {}]
    when "retry" then ["BACKSCROLL_RETRY_ADDRESS", {}]
    when "silent" then ["BACKSCROLL_SILENT_ADDRESS", {}]
    when "tls" then ["BACKSCROLL_TLS_ADDRESS", { tls_ca: File.read(ENV.fetch("BACKSCROLL_TLS_CA")) }]
    when "token_tls"
      ["BACKSCROLL_TLS_ADDRESS", { tls_ca: File.read(ENV.fetch("BACKSCROLL_TLS_CA")), token: ENV.fetch("BACKSCROLL_TOKEN") }]
    else abort "no target is named #{target}"
    end
  clients[target] =
    Backscroll::Client.new(ENV.fetch(address), service_config: ENV.fetch("BACKSCROLL_SERVICE_CONFIG"), **options)
end

def call(line)
  package, method = line.fetch("call").split("/")
  service = SERVICES.fetch(package) { abort "no service is named #{package}" }
  description = service::Service.rpc_descs.fetch(method.to_sym) { abort "no call is named #{line['call']}" }
  stub = CLIENTS[line.fetch("target")].stub(service::Stub)
  requests = read_requests(description, line.fetch("requests"))
  responses = []
  deadline = Time.now + line.fetch("deadline_ms") / 1000.0
  operation = stub.public_send(GRPC::GenericService.underscore(method), requests, deadline: deadline, return_op: true)
  read(operation.execute) do |response|
    responses << JSON.parse(response.to_json)
    operation.cancel if responses.size == line["cancel_after"]
  end
  ["OK", nil, responses]
rescue GRPC::BadStatus => e
  [STATUS_NAMES.fetch(e.code), Backscroll::Cause.of(e), responses]
end

# As the stub takes them: one message, or for a client stream all of them.
def read_requests(description, requests)
  streamed = description.input.is_a?(GRPC::RpcDesc::Stream)
  type = streamed ? description.input.type : description.input
  messages = requests.map { |request| type.decode_json(JSON.generate(request)) }
  streamed ? messages.each : messages.first
end

# A stub answers with a message, or for a server stream with an enumerator.
def read(answer, &block)
  answer.is_a?(Enumerator) ? answer.each(&block) : block.call(answer)
end

$stdin.set_encoding("UTF-8").each_line do |text|
  line = JSON.parse(text)
  status, cause, responses = call(line)
  answer = { step: line["step"], status: status, reason: cause&.reason.to_s, field: cause&.field.to_s, responses: responses }
  $stdout.puts(JSON.generate(answer))
  $stdout.flush
end
