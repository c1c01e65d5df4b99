//! A bot: a chat comes in on standard input, one event a line; where the bot is addressed, it prints what its model gets.

use std::{env, error::Error, io, time::Duration};

use backscroll::{
    Backscroll, Retry,
    v1::{self, AppendRefusal, part::Content},
};
use serde::Deserialize;
use tonic::Status;

const ME: &str = "cat-bot";
const WITHIN: Duration = Duration::from_secs(10);

/// What a chat platform tells of a message.
#[derive(Deserialize)]
struct Event {
    channel: String,
    id: String,
    user_id: String,
    user_name: String,
    text: String,
    time_ms: i64,
    reply_to: String,
    for_me: bool,
}

impl Event {
    fn message(&self) -> v1::Message {
        let reply = v1::Reply { message_id: self.reply_to.clone(), ..Default::default() };
        let text = v1::TextPart { text: self.text.clone() };
        v1::Message {
            id: self.id.clone(),
            author: Some(v1::Author { id: self.user_id.clone(), name: self.user_name.clone(), ..Default::default() }),
            sent_at_ms: self.time_ms,
            reply: (!self.reply_to.is_empty()).then_some(reply),
            parts: vec![v1::Part { content: Some(Content::Text(text)) }],
            ..Default::default()
        }
    }
}

/// Stores a message, trying again while the server is away; what is there already is no error.
async fn store(chat: &Backscroll, event: &Event) -> Result<(), Status> {
    let channel = event.channel.clone();
    let batch = v1::AppendMessagesRequest { channel, messages: vec![event.message()], ..Default::default() };
    let send = async |request| chat.history().append_messages(request).await;
    for result in Retry::default().call(WITHIN, &batch, send).await?.results {
        if result.refusal() != AppendRefusal::Unspecified || !result.warnings.is_empty() {
            eprintln!("not stored, or not as sent: {result:?}");
        }
    }
    Ok(())
}

/// What the model is to see for an event that is stored.
async fn context(chat: &Backscroll, event: &Event) -> Result<v1::BuildContextResponse, Status> {
    let question = v1::BuildContextRequest {
        channel: event.channel.clone(),
        trigger_message_id: Some(event.id.clone()),
        self_ids: vec![ME.into()],
        ..Default::default()
    };
    let send = async |request| chat.context().build_context(request).await;
    Retry::default().call(WITHIN, &question, send).await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let chat = Backscroll::connect(env::var("BACKSCROLL_ADDRESS").as_deref().unwrap_or("127.0.0.1:7171"))?;
    for line in io::stdin().lines() {
        let event: Event = serde_json::from_str(&line?)?;
        store(&chat, &event).await?;
        if event.for_me {
            println!("{}", context(&chat, &event).await?.text); // `payloads` hold the body to post to the model unchanged
        }
    }
    Ok(())
}
