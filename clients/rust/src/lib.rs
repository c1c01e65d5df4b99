//! Client of Backscroll, a context sidecar for chat bots.
//!
//! [`v1`] is generated from `proto/` of the repository by this crate's build script; its comments are the reference of
//! each call and field. The rest makes it comfortable: a [`Backscroll`] connects with limits that suit the server,
//! [`Retry`] repeats what may be repeated, and [`Cause`] says why a call failed.
//!
//! ```no_run
//! use std::time::Duration;
//! use backscroll::{Backscroll, Retry, v1};
//!
//! # async fn shown() -> Result<(), Box<dyn std::error::Error>> {
//! let chat = Backscroll::connect("127.0.0.1:7171")?;
//! let question = v1::BuildContextRequest {
//!     channel: "tea".into(),
//!     question: "who feeds the cat?".into(),
//!     ..Default::default()
//! };
//! let context = Retry::default()
//!     .call(Duration::from_secs(10), chat.context(), &question, |mut client, request| async move {
//!         client.build_context(request).await
//!     })
//!     .await?;
//! println!("{}", context.text);
//! # Ok(()) }
//! ```

mod cause;
mod connection;
mod retry;

pub use cause::Cause;
pub use connection::{Backscroll, Bearer, TokenRefused, Transport, endpoint};
pub use retry::Retry;

/// Messages and clients of `backscroll.v1`.
#[allow(missing_docs, clippy::all)]
pub mod v1 {
    tonic::include_proto!("backscroll.v1");
}

/// The descriptors of [`v1`], a serialised `google.protobuf.FileDescriptorSet`, for JSON and other uses of reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
