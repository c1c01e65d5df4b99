use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};
use tonic::{Code, Request, Response, Status};

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
    /// Makes a call with a deadline for all attempts together, which the server is told of.
    pub async fn call<Q, A>(
        &self,
        within: Duration,
        message: &Q,
        send: impl AsyncFn(Request<Q>) -> Result<Response<A>, Status>,
    ) -> Result<A, Status>
    where
        Q: Clone,
    {
        let deadline = Instant::now() + within;
        let mut wait = self.first_wait;
        let mut attempt = 1;
        loop {
            let mut request = Request::new(message.clone());
            request.set_timeout(deadline.saturating_duration_since(Instant::now()));
            let late = |_| Status::deadline_exceeded("the deadline passed");
            match timeout_at(deadline, send(request)).await.map_err(late)? {
                Ok(answer) => return Ok(answer.into_inner()),
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
