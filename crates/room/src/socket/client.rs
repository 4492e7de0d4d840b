//! The other end of a room's socket.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use waykeeper_platform::CoreId;
use waykeeper_platform::explain::read_json_text;

use super::protocol::{
    RoomAnswer, RoomOutcome, RoomQuestion, RoomRequest, RoomStatus, Start, VERSION, WorkloadSamples,
};

/// The environment variable that names the socket within a room.
pub const VARIABLE: &str = "WAYKEEPER_ROOM";

/// A connection to a room.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
}

/// Why a room did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The room refused.
    #[error("the room refused: {0}")]
    Refused(String),
    /// The connection broke.
    #[error("the room cannot be reached: {0}")]
    Io(#[from] io::Error),
    /// The answer was not understood: the room is of another version.
    #[error("the room answered {found}, which this version does not know")]
    Odd {
        /// The answer.
        found: String,
    },
}

impl Client {
    /// Connects to the room that this process is in, if it is in one.
    ///
    /// # Errors
    /// When the socket that the environment names does not answer.
    pub fn of_environment() -> io::Result<Option<Self>> {
        std::env::var_os(VARIABLE).map(|path| Self::connect(Path::new(&path))).transpose()
    }

    /// Connects to a socket.
    ///
    /// # Errors
    /// What the system says.
    pub fn connect(socket: &Path) -> io::Result<Self> {
        Ok(Self { stream: BufReader::new(UnixStream::connect(socket)?) })
    }

    /// Asks.
    ///
    /// # Errors
    /// A refusal, a broken connection, an answer of another version.
    pub fn ask(&mut self, ask: RoomQuestion) -> Result<RoomOutcome, ClientError> {
        let mut line = serde_json::to_vec(&RoomRequest { version: VERSION, ask }).map_err(io::Error::from)?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line)?;
        let mut answer = String::new();
        if self.stream.read_line(&mut answer)? == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        match read_json_text::<RoomAnswer>(answer.as_bytes()) {
            Ok(RoomAnswer { outcome: RoomOutcome::Refused { why }, .. }) => Err(ClientError::Refused(why)),
            Ok(answer) => Ok(answer.outcome),
            Err(_) => Err(ClientError::Odd { found: answer.trim_end().into() }),
        }
    }

    fn other<T>(outcome: &RoomOutcome) -> Result<T, ClientError> {
        Err(ClientError::Odd { found: format!("{outcome:?}") })
    }

    /// The room and what runs there.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn status(&mut self) -> Result<RoomStatus, ClientError> {
        match self.ask(RoomQuestion::Status)? {
            RoomOutcome::Status(status) => Ok(status),
            outcome => Self::other(&outcome),
        }
    }

    /// Starts a workload and returns its number.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn start(&mut self, start: Start) -> Result<u64, ClientError> {
        match self.ask(RoomQuestion::Start(Box::new(start)))? {
            RoomOutcome::Started { id } => Ok(id),
            outcome => Self::other(&outcome),
        }
    }

    /// Ends a workload.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn stop(&mut self, id: u64) -> Result<(), ClientError> {
        match self.ask(RoomQuestion::Stop { id })? {
            RoomOutcome::Stopped => Ok(()),
            outcome => Self::other(&outcome),
        }
    }

    /// All samples of a workload.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn samples(&mut self, id: u64) -> Result<WorkloadSamples, ClientError> {
        match self.ask(RoomQuestion::Samples { id })? {
            RoomOutcome::Samples(samples) => Ok(samples),
            outcome => Self::other(&outcome),
        }
    }

    /// Allocates memory that outlives the workloads that use it, and returns its number.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn memory(&mut self, core: CoreId, bytes: u64) -> Result<u64, ClientError> {
        match self.ask(RoomQuestion::Memory { core, bytes })? {
            RoomOutcome::Given { memory } => Ok(memory),
            outcome => Self::other(&outcome),
        }
    }

    /// Takes such memory back.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn free(&mut self, memory: u64) -> Result<(), ClientError> {
        match self.ask(RoomQuestion::Free { memory })? {
            RoomOutcome::Freed => Ok(()),
            outcome => Self::other(&outcome),
        }
    }

    /// Waits until a workload has so many samples or has ended, and returns the simulated nanoseconds since the room began.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn until(&mut self, id: u64, samples: u64) -> Result<f64, ClientError> {
        match self.ask(RoomQuestion::Until { id, samples })? {
            RoomOutcome::Waited { now_ns } => Ok(now_ns),
            outcome => Self::other(&outcome),
        }
    }

    /// Waits until so much simulated time has passed, and returns the simulated nanoseconds since the room began.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn wait(&mut self, simulated: Duration) -> Result<f64, ClientError> {
        let ns = u64::try_from(simulated.as_nanos()).unwrap_or(u64::MAX);
        match self.ask(RoomQuestion::Wait { ns })? {
            RoomOutcome::Waited { now_ns } => Ok(now_ns),
            outcome => Self::other(&outcome),
        }
    }
}
