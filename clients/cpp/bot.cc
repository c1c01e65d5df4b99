// A bot in one file: it stores every message of a chat, and asks what a model must see when it is addressed.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>

#include "backscroll/backscroll.h"
#include "backscroll/v1/context.grpc.pb.h"
#include "backscroll/v1/history.grpc.pb.h"

namespace v1 = backscroll::v1;

// What a call came to, or an exception that says which field was at fault.
void Check(const grpc::Status& status) {
  if (status.ok()) return;
  throw std::runtime_error(status.error_message() + " " + backscroll::CauseOf(status).field);
}

void SetDeadline(grpc::ClientContext& call) {
  call.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
}

// An event as your platform hands it to you: here an object of JSON.
using Event = google::protobuf::Struct;

void Append(v1::HistoryService::Stub& history, const Event& event) {
  const auto& fields = event.fields();
  v1::AppendMessagesRequest request;
  request.set_channel(fields.at("channel").string_value());
  auto& message = *request.add_messages();
  message.set_id(fields.at("id").string_value());
  message.mutable_author()->set_id(fields.at("user_id").string_value());
  message.mutable_author()->set_name(fields.at("user_name").string_value());
  message.set_sent_at_ms(static_cast<std::int64_t>(fields.at("time_ms").number_value()));
  message.add_parts()->mutable_text()->set_text(fields.at("text").string_value());
  if (const auto& parent = fields.at("reply_to").string_value(); !parent.empty())
    message.mutable_reply()->set_message_id(parent);

  grpc::ClientContext call;
  SetDeadline(call);
  v1::AppendMessagesResponse response;
  Check(history.AppendMessages(&call, request, &response));
  for (const auto& result : response.results())  // a message that comes again is a DUPLICATE, and no problem
    if (result.outcome() == v1::APPEND_OUTCOME_REFUSED) std::cerr << "refused: " << result.ShortDebugString() << '\n';
}

v1::BuildContextResponse Build(v1::ContextService::Stub& contexts, const Event& event) {
  v1::BuildContextRequest request;
  request.set_channel(event.fields().at("channel").string_value());
  request.set_trigger_message_id(event.fields().at("id").string_value());
  grpc::ClientContext call;
  SetDeadline(call);
  v1::BuildContextResponse context;
  Check(contexts.BuildContext(&call, request, &context));
  return context;  // payloads(0).body() is the request to post to the model
}

int main() try {
  const char* address = std::getenv("BACKSCROLL_ADDRESS");
  const auto channel = backscroll::Connect(address ? address : "127.0.0.1:7171");
  v1::HistoryService::Stub history(channel);
  v1::ContextService::Stub contexts(channel);
  for (std::string line; std::getline(std::cin, line);) {
    Event event;
    if (!google::protobuf::util::JsonStringToMessage(line, &event).ok()) throw std::runtime_error("no JSON: " + line);
    Append(history, event);
    if (event.fields().at("for_me").bool_value()) std::cout << Build(contexts, event).text() << std::endl;
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return EXIT_FAILURE;
}
