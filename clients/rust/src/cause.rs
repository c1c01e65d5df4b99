use std::collections::HashMap;

use tonic::Status;
use tonic_types::StatusExt;

use crate::v1::ErrorReason;

/// Why a call failed, beside its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// One of a closed set; `Unspecified` where this client is older than the server's reason.
    pub reason: ErrorReason,
    /// What the comment of the reason names, and `field`: the field of the request at fault.
    pub metadata: HashMap<String, String>,
}

impl Cause {
    /// The cause that a status carries; what gRPC itself answers has none.
    #[must_use]
    pub fn of(status: &Status) -> Option<Self> {
        let info = status.get_details_error_info()?;
        let reason = ErrorReason::from_str_name(&format!("ERROR_REASON_{}", info.reason));
        Some(Self { reason: reason.unwrap_or_default(), metadata: info.metadata })
    }

    /// The field of the request at fault; empty where it is none.
    #[must_use]
    pub fn field(&self) -> &str {
        self.metadata.get("field").map_or("", String::as_str)
    }
}
