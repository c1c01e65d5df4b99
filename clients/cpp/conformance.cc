// Makes the calls that clients/conformance/README.md tells it to make, one line of JSON each.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <google/protobuf/stubs/common.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>

#include "backscroll/backscroll.h"
#include "backscroll/v1/context.grpc.pb.h"
#include "backscroll/v1/history.grpc.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"

namespace {

using google::protobuf::ListValue;
using google::protobuf::Message;
using google::protobuf::Struct;
using google::protobuf::util::JsonStringToMessage;
using google::protobuf::util::MessageToJsonString;

void Parse(const std::string& json, Message& message) {
  if (const auto parsed = JsonStringToMessage(json, &message); !parsed.ok())
    throw std::runtime_error("no " + message.GetTypeName() + ": " + parsed.ToString());
}

std::string Json(const Message& message) {
  std::string json;
  if (const auto printed = MessageToJsonString(message, &json); !printed.ok()) throw std::runtime_error(printed.ToString());
  return json;
}

std::string Setting(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (!value) throw std::runtime_error(name + " is not set");
  return value;
}

// One call: its requests, and what came back before its status.
struct Call {
  std::shared_ptr<grpc::Channel> channel;
  grpc::ClientContext context;
  std::vector<std::string> requests;
  std::size_t cancel_after = std::numeric_limits<std::size_t>::max();
  std::vector<std::string> responses;

  template <class Request>
  Request RequestAt(std::size_t index) const {
    Request request;
    Parse(requests.at(index), request);
    return request;
  }

  template <class Reader, class Response>
  grpc::Status ReadAll(Reader& reader, Response response) {
    while (reader.Read(&response)) {
      responses.push_back(Json(response));
      if (responses.size() == cancel_after) context.TryCancel();
    }
    return reader.Finish();
  }
};

using Method = std::function<grpc::Status(Call&)>;

// The four shapes of a call, told apart by the type of the stub's method.
template <class Stub, class Request, class Response>
Method Make(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*)) {
  return [method](Call& call) {
    Stub stub(call.channel);
    Response response;
    const auto status = (stub.*method)(&call.context, call.RequestAt<Request>(0), &response);
    if (status.ok()) call.responses.push_back(Json(response));
    return status;
  };
}

template <class Stub, class Request, class Response>
Method Make(std::unique_ptr<grpc::ClientReader<Response>> (Stub::*method)(grpc::ClientContext*, const Request&)) {
  return [method](Call& call) {
    Stub stub(call.channel);
    return call.ReadAll(*(stub.*method)(&call.context, call.RequestAt<Request>(0)), Response());
  };
}

template <class Stub, class Request, class Response>
Method Make(std::unique_ptr<grpc::ClientWriter<Request>> (Stub::*method)(grpc::ClientContext*, Response*)) {
  return [method](Call& call) {
    Stub stub(call.channel);
    Response response;
    const auto writer = (stub.*method)(&call.context, &response);
    for (std::size_t i = 0; i < call.requests.size() && writer->Write(call.RequestAt<Request>(i)); ++i) {
    }
    writer->WritesDone();
    const auto status = writer->Finish();
    if (status.ok()) call.responses.push_back(Json(response));
    return status;
  };
}

template <class Stub, class Request, class Response>
Method Make(std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> (Stub::*method)(grpc::ClientContext*)) {
  return [method](Call& call) {
    Stub stub(call.channel);
    const auto stream = (stub.*method)(&call.context);
    for (std::size_t i = 0; i < call.requests.size() && stream->Write(call.RequestAt<Request>(i)); ++i) {
    }
    stream->WritesDone();
    return call.ReadAll(*stream, Response());
  };
}

const std::map<std::string, Method>& Methods() {
  using Context = backscroll::v1::ContextService::Stub;
  using History = backscroll::v1::HistoryService::Stub;
  static const std::map<std::string, Method> methods = {
      {"backscroll.v1.HistoryService/AppendMessages", Make(&History::AppendMessages)},
      {"backscroll.v1.HistoryService/EditMessage", Make(&History::EditMessage)},
      {"backscroll.v1.HistoryService/ListMessages", Make(&History::ListMessages)},
      {"backscroll.v1.HistoryService/GetChannel", Make(&History::GetChannel)},
      {"backscroll.v1.HistoryService/ImportMessages", Make(&History::ImportMessages)},
      {"backscroll.v1.HistoryService/ExportMessages", Make(&History::ExportMessages)},
      {"backscroll.v1.ContextService/BuildContext", Make(&Context::BuildContext)},
      {"backscroll.v1.ContextService/StreamChat", Make(&Context::StreamChat)},
      {"grpc.health.v1.Health/Check", Make(&grpc::health::v1::Health::Stub::Check)},
      {"grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
       Make(&grpc::reflection::v1alpha::ServerReflection::Stub::ServerReflectionInfo)},
  };
  return methods;
}

std::shared_ptr<grpc::Channel> Connect(const std::string& target) {
  backscroll::Options options;
  options.service_config = Setting("BACKSCROLL_SERVICE_CONFIG");
  if (target == "plain") return backscroll::Connect(Setting("BACKSCROLL_ADDRESS"), options);
  if (target == "retry") return backscroll::Connect(Setting("BACKSCROLL_RETRY_ADDRESS"), options);
  if (target == "silent") return backscroll::Connect(Setting("BACKSCROLL_SILENT_ADDRESS"), options);
  if (target != "tls" && target != "token_tls") throw std::runtime_error("no target is named " + target);
  std::ostringstream ca;
  ca << std::ifstream(Setting("BACKSCROLL_TLS_CA")).rdbuf();
  options.tls_ca = ca.str();
  if (target == "token_tls") options.token = Setting("BACKSCROLL_TOKEN");
  return backscroll::Connect(Setting("BACKSCROLL_TLS_ADDRESS"), options);
}

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& target) {
  static std::map<std::string, std::shared_ptr<grpc::Channel>> channels;
  auto& channel = channels[target];
  if (!channel) channel = Connect(target);
  return channel;
}

const char* NameOf(grpc::StatusCode code) {
  static constexpr const char* kNames[] = {
      "OK",
      "CANCELLED",
      "UNKNOWN",
      "INVALID_ARGUMENT",
      "DEADLINE_EXCEEDED",
      "NOT_FOUND",
      "ALREADY_EXISTS",
      "PERMISSION_DENIED",
      "RESOURCE_EXHAUSTED",
      "FAILED_PRECONDITION",
      "ABORTED",
      "OUT_OF_RANGE",
      "UNIMPLEMENTED",
      "INTERNAL",
      "UNAVAILABLE",
      "DATA_LOSS",
      "UNAUTHENTICATED",
  };
  return kNames[code];
}

std::string Answer(const Struct& line) {
  const auto& fields = line.fields();
  const auto method = Methods().find(fields.at("call").string_value());
  if (method == Methods().end()) throw std::runtime_error("no call is named " + fields.at("call").string_value());

  Call call;
  call.channel = ChannelTo(fields.at("target").string_value());
  for (const auto& request : fields.at("requests").list_value().values()) call.requests.push_back(Json(request));
  const auto deadline_ms = static_cast<std::int64_t>(fields.at("deadline_ms").number_value());
  call.context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(deadline_ms));
  if (const auto after = fields.find("cancel_after"); after != fields.end())
    call.cancel_after = static_cast<std::size_t>(after->second.number_value());

  const auto status = method->second(call);
  const auto cause = backscroll::CauseOf(status);
  Struct answer;
  auto& said = *answer.mutable_fields();
  said["step"] = fields.at("step");
  said["status"].set_string_value(NameOf(status.error_code()));
  said["reason"].set_string_value(cause.reason);
  said["field"].set_string_value(cause.field);
  auto& responses = *said["responses"].mutable_list_value();
  for (const auto& response : call.responses) Parse(response, *responses.add_values());
  return Json(answer);
}

}  // namespace

int main(int argument_count, char**) try {
  if (argument_count > 1) {  // --version
    std::cout << "grpc++ " << grpc::Version() << ", protobuf "
              << google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION) << std::endl;
    return EXIT_SUCCESS;
  }
  for (std::string text; std::getline(std::cin, text);) {
    Struct line;
    Parse(text, line);
    std::cout << Answer(line) << std::endl;
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return EXIT_FAILURE;
}
