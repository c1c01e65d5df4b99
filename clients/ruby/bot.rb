# frozen_string_literal: true

# A bot in one file: it stores every message of a chat, and asks what a model must see when it is addressed.
require "json"
require "backscroll"

class Bot
  include Backscroll::V1

  def initialize(client)
    @client = client
  end

  # An event as your platform hands it to you: here a hash.
  def on_message(event)
    append(event)
    puts build(event).text if event[:for_me] # payloads.first.body is the request to post to the model
  end

  private

  # Safe to repeat, and gRPC does so while the server is away: a message that comes again is a DUPLICATE.
  def append(event)
    request = AppendMessagesRequest.new(channel: event[:channel], messages: [message(event)])
    refused = @client.history.append_messages(request).results.select { |result| result.outcome == :APPEND_OUTCOME_REFUSED }
    refused.each { |result| warn "refused: #{result.to_h.slice(:message_id, :refusal, :field)}" }
  end

  def message(event)
    Message.new(
      id: event[:id],
      author: Author.new(id: event[:user_id], name: event[:user_name]),
      sent_at_ms: event[:time_ms],
      parts: [Part.new(text: TextPart.new(text: event[:text]))],
      reply: (Reply.new(message_id: event[:reply_to]) unless event[:reply_to].empty?)
    )
  end

  def build(event)
    @client.contexts.build_context(
      BuildContextRequest.new(channel: event[:channel], trigger_message_id: event[:id])
    )
  end
end

$stdout.sync = true
bot = Bot.new(Backscroll::Client.new(ENV.fetch("BACKSCROLL_ADDRESS", "127.0.0.1:7171")))
begin
  $stdin.set_encoding("UTF-8").each_line { |line| bot.on_message(JSON.parse(line, symbolize_names: true)) }
rescue GRPC::BadStatus => e
  abort "#{e.details} #{Backscroll::Cause.of(e)&.field}".strip
end
