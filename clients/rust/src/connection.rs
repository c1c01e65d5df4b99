use std::{error::Error, fmt, net::IpAddr, time::Duration};

use tonic::{
    Request, Status,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::{self, Channel, Endpoint},
};

use crate::v1::{context_service_client::ContextServiceClient, history_service_client::HistoryServiceClient};

const RECEIVE_LIMIT_BYTES: usize = 16 << 20;

/// What the generated clients send through.
pub type Transport = InterceptedService<Channel, Bearer>;

/// An address such as `http://127.0.0.1:7171` or `https://chat.example:7171`, with keepalive as the server likes it.
pub fn endpoint(uri: &str) -> Result<Endpoint, transport::Error> {
    Ok(Endpoint::from_shared(uri.to_owned())?
        .http2_keep_alive_interval(Duration::from_secs(60))
        .keep_alive_timeout(Duration::from_secs(20))
        .keep_alive_while_idle(true))
}

/// A connection to a server. It connects with the first call and again whenever the server is back; clones share it. Make it
/// inside a tokio runtime.
#[derive(Clone, Debug)]
pub struct Backscroll {
    channel: Channel,
    bearer: Bearer,
    may_send_token: bool,
}

impl Backscroll {
    /// Connects to `host:port` without TLS: a server on this machine.
    pub fn connect(address: &str) -> Result<Self, transport::Error> {
        Ok(Self::new(&endpoint(&format!("http://{address}"))?))
    }

    /// Connects to an [`endpoint`], which may have a TLS configuration.
    #[must_use]
    pub fn new(endpoint: &Endpoint) -> Self {
        let uri = endpoint.uri();
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let is_local = host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
        Self {
            channel: endpoint.connect_lazy(),
            bearer: Bearer(None),
            may_send_token: is_local || uri.scheme_str() == Some("https"),
        }
    }

    /// Sends `authorization: Bearer TOKEN` with every call. Without TLS it goes to this machine only.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use backscroll::{Backscroll, endpoint};
    ///
    /// assert!(Backscroll::connect("127.0.0.1:7171")?.with_token("secret").is_ok());
    /// assert!(Backscroll::connect("chat.example:7171")?.with_token("secret").is_err());
    /// assert!(Backscroll::new(&endpoint("https://chat.example:7171")?).with_token("secret").is_ok());
    /// assert!(Backscroll::connect("127.0.0.1:7171")?.with_token("of two\nlines").is_err());
    /// # Ok(()) }
    /// ```
    pub fn with_token(self, token: &str) -> Result<Self, TokenRefused> {
        if !self.may_send_token {
            return Err(TokenRefused("it would travel unencrypted; give an https endpoint"));
        }
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenRefused("it is empty or holds what no header can carry"));
        }
        let mut value: MetadataValue<Ascii> = format!("Bearer {token}").parse().expect("graphic characters");
        value.set_sensitive(true);
        Ok(Self { bearer: Bearer(Some(value)), ..self })
    }

    /// Stores what is said and reads it back.
    #[must_use]
    pub fn history(&self) -> HistoryServiceClient<Transport> {
        HistoryServiceClient::new(self.transport()).max_decoding_message_size(RECEIVE_LIMIT_BYTES)
    }

    /// Picks what a model must see.
    #[must_use]
    pub fn context(&self) -> ContextServiceClient<Transport> {
        ContextServiceClient::new(self.transport()).max_decoding_message_size(RECEIVE_LIMIT_BYTES)
    }

    /// For clients of other services, such as `AdminServiceClient::new(chat.transport())`.
    #[must_use]
    pub fn transport(&self) -> Transport {
        InterceptedService::new(self.channel.clone(), self.bearer.clone())
    }
}

/// Adds the token to a call.
#[derive(Clone, Debug)]
pub struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(value) = &self.0 {
            request.metadata_mut().insert("authorization", value.clone());
        }
        Ok(request)
    }
}

/// Why a token is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenRefused(&'static str);

impl fmt::Display for TokenRefused {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "the token is not sent: {}", self.0)
    }
}

impl Error for TokenRefused {}
