package io.backscroll.examples;

import com.google.gson.FieldNamingPolicy;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import io.backscroll.Backscroll;
import io.backscroll.v1.AppendMessagesRequest;
import io.backscroll.v1.AppendResult;
import io.backscroll.v1.Author;
import io.backscroll.v1.BuildContextRequest;
import io.backscroll.v1.Message;
import io.backscroll.v1.Part;
import io.backscroll.v1.Reply;
import io.backscroll.v1.TextPart;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** A bot: a chat comes in on standard input, one event a line; where the bot is addressed, it prints what its model gets. */
public final class Bot {
  private static final String ME = "cat-bot";
  private static final Gson JSON =
      new GsonBuilder().setFieldNamingPolicy(FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES).create();

  /** What a chat platform tells of a message. */
  record Event(
      String channel, String id, String userId, String userName, String text, long timeMs, String replyTo, boolean forMe) {

    Message message() {
      Message.Builder message =
          Message.newBuilder()
              .setId(id)
              .setAuthor(Author.newBuilder().setId(userId).setName(userName))
              .setSentAtMs(timeMs)
              .addParts(Part.newBuilder().setText(TextPart.newBuilder().setText(text)));
      if (!replyTo.isEmpty()) {
        message.setReply(Reply.newBuilder().setMessageId(replyTo));
      }
      return message.build();
    }
  }

  /** Stores a message. The channel tries again where the server is away; a message that is there already is no error. */
  static void store(Backscroll chat, Event event) {
    var request = AppendMessagesRequest.newBuilder().setChannel(event.channel()).addMessages(event.message()).build();
    for (AppendResult result : chat.history().withDeadlineAfter(10, TimeUnit.SECONDS).appendMessages(request).getResultsList()) {
      if (result.getRefusalValue() != 0 || result.getWarningsCount() > 0) {
        System.err.println("not stored, or not as sent: " + result);
      }
    }
  }

  public static void main(String[] args) throws IOException {
    var events = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    var out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    try (var chat = Backscroll.connect(Optional.ofNullable(System.getenv("BACKSCROLL_ADDRESS")).orElse("127.0.0.1:7171"))) {
      for (String line; (line = events.readLine()) != null; ) {
        var event = JSON.fromJson(line, Event.class);
        store(chat, event);
        if (event.forMe()) {
          var question =
              BuildContextRequest.newBuilder().setChannel(event.channel()).setTriggerMessageId(event.id()).addSelfIds(ME);
          var context = chat.context().withDeadlineAfter(10, TimeUnit.SECONDS).buildContext(question.build());
          out.println(context.getText()); // payloads hold the request body, to be posted to the model unchanged
        }
      }
    }
  }
}
