// One direction between the two processes: a service of iceoryx2 for the messages and, for who
// sleeps, one for the notices that wake him.
use std::time::Duration;

use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use iceoryx2::sample::Sample;
use iceoryx2::service::port_factory::{event, publish_subscribe};

use crate::options::Options;
use crate::worker::Result;

// What may wait at the subscriber. A publisher that finds it full gives up its core, and then
// sleeps: it must be rare. Of large messages as much as the other peers have under way.
const WAITING_BYTES: usize = 4 << 20;
const WAITING_MIN: usize = 8;
const WAITING_MAX: usize = 1024;

// Who sends without end notifies once for so many bytes (or half of what may wait).
pub const BYTES_PER_NOTICE: usize = 32 << 10;
// Who sleeps looks so often whether he is to stop.
pub const REST_MAX: Duration = Duration::from_millis(100);

// One publisher, one subscriber, no history. Nothing overflows: a publisher retries.
pub struct Path {
    messages: publish_subscribe::PortFactory<ipc::Service, [u8], ()>,
    notices: Option<event::PortFactory<ipc::Service>>,
    message_bytes: usize,
    waiting_max: usize,
    _node: Node<ipc::Service>, // the last to go
}

impl Path {
    // The end that binds creates it; the other one opens it.
    pub fn create(options: &Options, direction: &str) -> Result<Path> {
        Path::new(options, direction, true)
    }
    pub fn open(options: &Options, direction: &str) -> Result<Path> {
        Path::new(options, direction, false)
    }

    fn new(options: &Options, direction: &str, create: bool) -> Result<Path> {
        // What fails is told by the error.
        set_log_level(LogLevel::Fatal);
        // Each look for a message walks through all connections that there might be: keep it short.
        let mut config = Config::default();
        config
            .defaults
            .publish_subscribe
            .subscriber_expired_connection_buffer = 1;
        let node = NodeBuilder::new()
            .config(&config)
            .signal_handling_mode(SignalHandlingMode::Disabled)
            .create::<ipc::Service>()?;
        let name: ServiceName = format!("netio-bench/{}/{direction}", options.name)
            .as_str()
            .try_into()?;
        let waiting_max = (WAITING_BYTES / options.message_bytes).clamp(WAITING_MIN, WAITING_MAX);
        let messages = node
            .service_builder(&name)
            .publish_subscribe::<[u8]>()
            .enable_safe_overflow(false)
            .history_size(0)
            .subscriber_max_buffer_size(waiting_max)
            .subscriber_max_borrowed_samples(1)
            .max_publishers(1)
            .max_subscribers(1);
        let messages = if create {
            messages.create()?
        } else {
            messages.open()?
        };
        let notices = match options.sleeps() {
            false => None,
            true if create => Some(node.service_builder(&name).event().create()?),
            true => Some(node.service_builder(&name).event().open()?),
        };
        Ok(Path {
            messages,
            notices,
            message_bytes: options.message_bytes,
            waiting_max,
            _node: node,
        })
    }

    pub fn inlet(&self) -> Result<Inlet> {
        let listener = match &self.notices {
            Some(notices) => Some(notices.listener_builder().create()?),
            None => None,
        };
        let subscriber = self
            .messages
            .subscriber_builder()
            .buffer_size(self.waiting_max)
            .create()?;
        Ok(Inlet {
            subscriber,
            listener,
        })
    }

    // A subscriber that sleeps is told of every `bytes_per_notice` bytes; 0: of each message.
    pub fn outlet(&self, bytes_per_notice: usize) -> Result<Outlet> {
        let notifier = match &self.notices {
            Some(notices) => Some(notices.notifier_builder().create()?),
            None => None,
        };
        let publisher = self
            .messages
            .publisher_builder()
            .initial_max_slice_len(self.message_bytes)
            .max_loaned_samples(1)
            .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
            .create()?;
        let gathered_max = (bytes_per_notice / self.message_bytes)
            .min(self.waiting_max / 2)
            .max(1);
        Ok(Outlet {
            publisher,
            notifier,
            message_bytes: self.message_bytes,
            gathered: 0,
            gathered_max,
        })
    }
}

pub struct Inlet {
    subscriber: Subscriber<ipc::Service, [u8], ()>,
    listener: Option<Listener<ipc::Service>>,
}

impl Inlet {
    // The message where it lies; it goes back to the publisher when it is dropped. Never waits.
    #[inline]
    pub fn receive(&self) -> Result<Option<Sample<ipc::Service, [u8], ()>>> {
        Ok(self.subscriber.receive()?)
    }

    // There was nothing: until there is a notice, if it is to sleep.
    pub fn rest(&self) -> Result<()> {
        match &self.listener {
            Some(listener) => listener
                .timed_wait(|_| (), REST_MAX)
                .map(|_| ())
                .map_err(|e| e.into()),
            None => Ok(std::hint::spin_loop()),
        }
    }
}

pub struct Outlet {
    publisher: Publisher<ipc::Service, [u8], ()>,
    notifier: Option<Notifier<ipc::Service>>,
    message_bytes: usize,
    gathered: usize,
    gathered_max: usize,
}

impl Outlet {
    // Sends what `write` puts into a loaned sample, waiting while the subscriber is full. False if
    // it is full and has not yet looked for its publisher: then iceoryx2 drops what is sent.
    #[inline]
    pub fn send(&mut self, write: impl FnOnce(&mut [u8])) -> Result<bool> {
        let loan = self.publisher.loan_slice_uninit(self.message_bytes)?;
        // Shared memory holds bytes, written or not: a message that is not verified has its number
        // written, and the rest is what is there.
        let mut sample = unsafe { loan.assume_init() };
        write(sample.payload_mut());
        let delivered = sample.send()? == 1;
        self.gathered += 1;
        if self.gathered >= self.gathered_max {
            self.notify()?;
        }
        Ok(delivered)
    }

    pub fn notify(&mut self) -> Result<()> {
        self.gathered = 0;
        if let Some(notifier) = &self.notifier {
            notifier.notify()?;
        }
        Ok(())
    }
}
