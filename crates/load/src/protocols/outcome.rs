//! How one request ended.

/// How a request ended. Only `Hit` is a success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Outcome {
    /// Not sent, or sent and not answered before the deadline.
    #[default]
    Pending,
    /// Answered in full and as expected.
    Hit,
    /// The server does not have the item.
    Miss,
    /// The server answered with an error status.
    Status,
    /// The body was shorter or longer than it must be.
    Length,
    /// The body was not what it must be.
    Content,
    /// The reply does not follow the protocol.
    Garbled,
    /// The connection was closed or reset first.
    Closed,
    /// No reply came within the job's `timeout`.
    TimedOut,
}

impl Outcome {
    /// The outcome's word in results and raw files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Status => "status",
            Self::Length => "length",
            Self::Content => "content",
            Self::Garbled => "garbled",
            Self::Closed => "closed",
            Self::TimedOut => "timed_out",
        }
    }
}
