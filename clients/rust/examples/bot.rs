//! A bot: a chat comes in on standard input, one event a line; where the bot is addressed, it prints what its model gets.

use std::{env, error::Error, time::Duration};

use backscroll::{Backscroll, Retry, v1};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tonic::Status;

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
        let reply = || v1::Reply { message_id: self.reply_to.clone(), ..Default::default() };
        v1::Message {
            id: self.id.clone(),
            author: Some(v1::Author { id: self.user_id.clone(), name: self.user_name.clone(), ..Default::default() }),
            sent_at_ms: self.time_ms,
            reply: (!self.reply_to.is_empty()).then(reply),
            parts: vec![v1::Part { content: Some(v1::part::Content::Text(v1::TextPart { text: self.text.clone() })) }],
            ..Default::default()
        }
    }
}

/// Stores a message, trying again while the server is away; what is there already is no error.
async fn store(chat: &Backscroll, event: &Event) -> Result<(), Status> {
    let channel = event.channel.clone();
    let batch = v1::AppendMessagesRequest { channel, messages: vec![event.message()], ..Default::default() };
    let stored = Retry::default()
        .call(WITHIN, chat.history(), &batch, |mut api, asked| async move { api.append_messages(asked).await })
        .await?;
    for result in stored.results {
        if result.refusal() != v1::AppendRefusal::Unspecified || !result.warnings.is_empty() {
            eprintln!("not stored, or not as sent: {result:?}");
        }
    }
    Ok(())
}

/// What the model is to see for an event that is stored.
async fn context(chat: &Backscroll, event: &Event) -> Result<v1::BuildContextResponse, Status> {
    let (channel, trigger, self_ids) = (event.channel.clone(), Some(event.id.clone()), vec!["cat-bot".into()]);
    let question = v1::BuildContextRequest { channel, trigger_message_id: trigger, self_ids, ..Default::default() };
    Retry::default()
        .call(WITHIN, chat.context(), &question, |mut api, asked| async move { api.build_context(asked).await })
        .await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let chat = Backscroll::connect(env::var("BACKSCROLL_ADDRESS").as_deref().unwrap_or("127.0.0.1:7171"))?;
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let event: Event = serde_json::from_str(&line)?;
        store(&chat, &event).await?;
        if event.for_me {
            println!("{}", context(&chat, &event).await?.text); // `payloads` hold the body to post to the model unchanged
        }
    }
    Ok(())
}
