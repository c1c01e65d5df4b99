use std::{error::Error, iter::successors, time::Duration};

use tokio::time::{Instant, sleep, timeout_at};
use tonic::{Code, Request, Response, Status, TimeoutExpired};

/// Repeats a call while the server is away. Use it for what is safe to repeat: appends, edits, builds, lists. `StreamChat`
/// and `Chat` call a model, and a repeated `Erase` would say that nothing was there.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// Attempts in all, the first one included.
    pub attempts: u32,
    /// The wait before the second attempt. Each wait is 20 % shorter or longer by chance.
    pub first_wait: Duration,
    /// How much longer each wait is than the one before.
    pub factor: f64,
    /// No wait is longer.
    pub longest_wait: Duration,
    /// What is tried again.
    pub codes: Vec<Code>,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 4,
            first_wait: Duration::from_millis(100),
            factor: 3.0,
            longest_wait: Duration::from_secs(1),
            codes: vec![Code::Unavailable],
        }
    }
}

impl Retry {
    /// Makes a call with a deadline for all attempts together, which the server is told of. `send` gets a clone of the
    /// client, and the request.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use backscroll::{Backscroll, Retry, v1};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let chat = Backscroll::connect("127.0.0.1:1")?; // nobody is there
    /// let asked = v1::ListChannelsRequest::default();
    /// let task = tokio::spawn(async move {
    ///     Retry { attempts: 2, ..Retry::default() }
    ///         .call(Duration::from_secs(10), chat.history(), &asked, |mut history, request| async move {
    ///             history.list_channels(request).await
    ///         })
    ///         .await
    /// });
    /// assert_eq!(task.await?.unwrap_err().code(), tonic::Code::Unavailable);
    /// # Ok(()) }
    /// ```
    pub async fn call<C, Q, A, F>(
        &self,
        within: Duration,
        client: C,
        message: &Q,
        send: impl Fn(C, Request<Q>) -> F,
    ) -> Result<A, Status>
    where
        C: Clone,
        Q: Clone,
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let deadline = Instant::now() + within;
        let mut wait = self.first_wait;
        let mut attempt = 1;
        loop {
            let mut request = Request::new(message.clone());
            request.set_timeout(deadline.saturating_duration_since(Instant::now()));
            let answered = timeout_at(deadline, send(client.clone(), request)).await;
            match answered.unwrap_or_else(|_| Err(late())) {
                Ok(answer) => return Ok(answer.into_inner()),
                Err(status) if has_timed_out(&status) => return Err(late()),
                Err(status) => {
                    let pause = wait.mul_f64(0.8 + 0.4 * fastrand::f64());
                    if attempt >= self.attempts
                        || !self.codes.contains(&status.code())
                        || Instant::now() + pause >= deadline
                    {
                        return Err(status);
                    }
                    sleep(pause).await;
                }
            }
            attempt += 1;
            wait = wait.mul_f64(self.factor).min(self.longest_wait);
        }
    }
}

fn late() -> Status {
    Status::deadline_exceeded("the deadline passed")
}

/// tonic's own timer, which may be first, says CANCELLED.
fn has_timed_out(status: &Status) -> bool {
    successors(status.source(), |&error| error.source()).any(|error| error.is::<TimeoutExpired>())
}
