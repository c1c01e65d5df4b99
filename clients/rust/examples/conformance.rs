//! The driver of clients/conformance: makes the calls it is told of on standard input, and says what came.

use std::{collections::HashMap, env, error::Error, fs, time::Duration};

use backscroll::{Backscroll, Cause, FILE_DESCRIPTOR_SET, Retry, Transport, endpoint};
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader, stdin},
    time::{Instant, timeout_at},
};
use tonic::{
    Code, Request, Response, Status, Streaming,
    transport::{Certificate, ClientTlsConfig},
};
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1alpha::server_reflection_client::ServerReflectionClient;

type Failure = Box<dyn Error>;

#[derive(Deserialize)]
struct Step {
    step: String,
    call: String,
    target: String,
    requests: Vec<Value>,
    deadline_ms: u64,
    cancel_after: Option<usize>,
}

/// A step on its way: its method by the descriptors, and what came.
struct Run {
    method: MethodDescriptor,
    requests: Vec<Value>,
    deadline: Instant,
    cancel_after: Option<usize>,
    retry: Retry,
    responses: Vec<Value>,
}

impl Run {
    fn within(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    fn requests<Q: Message + Default>(&self) -> Result<Vec<Q>, Failure> {
        let read = |json: &Value| Ok(DynamicMessage::deserialize(self.method.input(), json)?.transcode_to()?);
        self.requests.iter().map(read).collect()
    }

    fn timed<Q>(&self, message: Q) -> Request<Q> {
        let mut request = Request::new(message);
        request.set_timeout(self.within());
        request
    }

    fn keep(&mut self, response: &impl Message) {
        self.responses.push(to_json(self.method.output(), response));
    }

    async fn one<C: Clone, Q: Message + Default + Clone, A: Message, F>(
        &mut self,
        client: C,
        send: impl Fn(C, Request<Q>) -> F,
    ) -> Result<Result<(), Status>, Failure>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let request = self.requests()?.remove(0);
        Ok(self.retry.call(self.within(), client, &request, send).await.map(|answer| self.keep(&answer)))
    }

    async fn stream<A: Message>(
        &mut self,
        sent: impl Future<Output = Result<Response<Streaming<A>>, Status>>,
    ) -> Result<(), Status> {
        let late = |_| Status::deadline_exceeded("the deadline passed");
        let mut answers = timeout_at(self.deadline, sent).await.map_err(late)??.into_inner();
        while let Some(answer) = timeout_at(self.deadline, answers.message()).await.map_err(late)?? {
            self.keep(&answer);
            if self.cancel_after == Some(self.responses.len()) {
                return Err(Status::cancelled("enough was read")); // dropping the stream cancels the call
            }
        }
        Ok(())
    }
}

fn to_json(descriptor: MessageDescriptor, message: &impl Message) -> Value {
    let known = DynamicMessage::decode(descriptor, message.encode_to_vec().as_slice()).expect("the same descriptor");
    serde_json::to_value(known).expect("a message is JSON")
}

/// What gRPC's service config says of a method, or no retries.
fn policy(config: &Value, service: &str, method: &str) -> Result<Retry, Failure> {
    let names = |part: &&Value| {
        let names = part["name"].as_array().map(Vec::as_slice).unwrap_or_default();
        names.iter().any(|name| name["service"] == service && name["method"] == method)
    };
    let Some(policy) =
        config["methodConfig"].as_array().into_iter().flatten().find(names).map(|part| &part["retryPolicy"])
    else {
        return Ok(Retry { attempts: 1, ..Default::default() });
    };
    let seconds = |name: &str| -> Result<Duration, Failure> {
        let text = policy[name].as_str().and_then(|text| text.strip_suffix('s')).ok_or("a duration ends with s")?;
        Ok(Duration::try_from_secs_f64(text.parse()?)?)
    };
    let code = |name: &Value| (0..17).map(Code::from).find(|code| name.as_str() == Some(code_name(*code)));
    Ok(Retry {
        attempts: u32::deserialize(&policy["maxAttempts"])?,
        first_wait: seconds("initialBackoff")?,
        factor: f64::deserialize(&policy["backoffMultiplier"])?,
        longest_wait: seconds("maxBackoff")?,
        codes: policy["retryableStatusCodes"].as_array().into_iter().flatten().filter_map(code).collect(),
    })
}

fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

fn connect(target: &str) -> Result<Backscroll, Failure> {
    let plain = |variable| Ok(Backscroll::connect(&env::var(variable)?)?);
    let tls = || {
        let ca = Certificate::from_pem(fs::read(env::var("BACKSCROLL_TLS_CA")?)?);
        let uri = format!("https://{}", env::var("BACKSCROLL_TLS_ADDRESS")?);
        Ok(Backscroll::new(&endpoint(&uri)?.tls_config(ClientTlsConfig::new().ca_certificate(ca))?))
    };
    match target {
        "plain" => plain("BACKSCROLL_ADDRESS"),
        "retry" => plain("BACKSCROLL_RETRY_ADDRESS"),
        "silent" => plain("BACKSCROLL_SILENT_ADDRESS"),
        "tls" => tls(),
        "token_tls" => Ok(tls()?.with_token(&env::var("BACKSCROLL_TOKEN")?)?),
        _ => Err(format!("no target is called {target}").into()),
    }
}

async fn call(name: &str, chat: &Backscroll, run: &mut Run) -> Result<Result<(), Status>, Failure> {
    let channel: Transport = chat.transport();
    match name {
        "backscroll.v1.HistoryService/AppendMessages" => {
            run.one(chat.history(), |mut to, request| async move { to.append_messages(request).await }).await
        }
        "backscroll.v1.HistoryService/EditMessage" => {
            run.one(chat.history(), |mut to, request| async move { to.edit_message(request).await }).await
        }
        "backscroll.v1.HistoryService/ListMessages" => {
            run.one(chat.history(), |mut to, request| async move { to.list_messages(request).await }).await
        }
        "backscroll.v1.HistoryService/GetChannel" => {
            run.one(chat.history(), |mut to, request| async move { to.get_channel(request).await }).await
        }
        "backscroll.v1.HistoryService/ImportMessages" => {
            let requests = run.timed(tokio_stream::iter(run.requests()?));
            Ok(chat.history().import_messages(requests).await.map(|answer| run.keep(answer.get_ref())))
        }
        "backscroll.v1.HistoryService/ExportMessages" => {
            let request = run.timed(run.requests()?.remove(0));
            Ok(run.stream(chat.history().export_messages(request)).await)
        }
        "backscroll.v1.ContextService/BuildContext" => {
            run.one(chat.context(), |mut to, request| async move { to.build_context(request).await }).await
        }
        "backscroll.v1.ContextService/StreamChat" => {
            let request = run.timed(run.requests()?.remove(0));
            Ok(run.stream(chat.context().stream_chat(request)).await)
        }
        "grpc.health.v1.Health/Check" => {
            run.one(HealthClient::new(channel), |mut to, request| async move { to.check(request).await }).await
        }
        "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo" => {
            let request = run.timed(tokio_stream::iter(run.requests()?));
            Ok(run.stream(ServerReflectionClient::new(channel).server_reflection_info(request)).await)
        }
        _ => Err(format!("no stub of {name}").into()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET)?;
    pool.decode_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)?;
    pool.decode_file_descriptor_set(tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET)?;
    let config: Value = serde_json::from_str(&env::var("BACKSCROLL_SERVICE_CONFIG")?)?;
    let mut targets = HashMap::new();
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let Step { step, call: name, target, requests, deadline_ms, cancel_after } = serde_json::from_str(&line)?;
        if !targets.contains_key(&target) {
            targets.insert(target.clone(), connect(&target)?);
        }
        let (service, method) = name.split_once('/').ok_or("a call is service/method")?;
        let known =
            pool.get_service_by_name(service).and_then(|found| found.methods().find(|one| one.name() == method));
        let mut run = Run {
            method: known.ok_or_else(|| format!("no method is called {name}"))?,
            requests,
            deadline: Instant::now() + Duration::from_millis(deadline_ms),
            cancel_after,
            retry: policy(&config, service, method)?,
            responses: Vec::new(),
        };
        let status = call(&name, &targets[&target], &mut run).await?.err().unwrap_or_else(|| Status::ok(""));
        let cause = Cause::of(&status);
        let reason = cause.as_ref().map_or("", |known| known.reason.as_str_name().trim_start_matches("ERROR_REASON_"));
        let answer = json!({
            "step": step,
            "status": code_name(status.code()),
            "reason": reason,
            "field": cause.as_ref().map_or("", Cause::field),
            "responses": run.responses,
        });
        println!("{answer}");
    }
    Ok(())
}
