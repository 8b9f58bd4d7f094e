//! Keys of `[channel.NAME]`

use crate::registry::Presence::{Default, Required, RequiredByRule};
use crate::registry::choices::CHANNEL_KINDS;
use crate::registry::key::{Key, Shape};

pub(super) const KEYS: &[Key] = &[
    Key {
        path: "channel",
        shape: Shape::Named,
        presence: Default("no channels"),
        meaning: "The channels, `[channel.NAME]` each: memory that is mapped into exactly the \
                  partitions named, with a buffer in it. A name is a small letter, then up to 14 small \
                  letters, digits and `-`.",
        example: "[channel.sensors]",
    },
    Key {
        path: "channel.*.kind",
        shape: Shape::Choice(CHANNEL_KINDS.words),
        presence: Required,
        meaning: "`\"four-slot\"`: the newest message, never blocks. `\"ring\"`: every message in order, \
                  the writer waits when it is full. `\"mailbox\"`: one slot, half duplex, with \
                  transactions. `\"recorder\"`: an overwriting log that any number only read. \
                  `\"memory\"`: plain memory, laid out by its users.",
        example: "kind = \"four-slot\"",
    },
    Key {
        path: "channel.*.from",
        shape: Shape::Text,
        presence: RequiredByRule,
        meaning: "The partition that writes.",
        example: "from = \"plant\"",
    },
    Key {
        path: "channel.*.to",
        shape: Shape::TextOrTexts,
        presence: RequiredByRule,
        meaning: "The partition that reads; a list for recorders and plain memory. `\"host\"` is the \
                  tool on the host, which can only read, and only recorders.",
        example: "to = \"control\"",
    },
    Key {
        path: "channel.*.message",
        shape: Shape::Size,
        presence: Required,
        meaning: "Bytes of a message, a multiple of 8 (of a slot, for a mailbox; of a record, for a \
                  recorder). For plain memory, the bytes of the whole, a multiple of 4 KiB.",
        example: "message = 64",
    },
    Key {
        path: "channel.*.messages",
        shape: Shape::Number(0, u32::MAX as u64),
        presence: Default("1; rings and recorders must say"),
        meaning: "How many messages a ring, or records a recorder, holds. The other kinds have a fixed \
                  number.",
        example: "messages = 4096",
    },
    Key {
        path: "channel.*.access",
        shape: Shape::Choice(&["read-write", "read-only"]),
        presence: Default("`\"read-only\"` for recorders, `\"read-write\"` for others"),
        meaning: "How the reader's side is mapped. Readers of four-slot, ring and mailbox must write \
                  their own cursors; readers of a recorder never write; for plain memory it is your \
                  choice.",
        example: "access = \"read-only\"",
    },
    Key {
        path: "channel.*.doorbell",
        shape: Shape::Section,
        presence: Default("no doorbell"),
        meaning: "The writer may interrupt the reader, so often; what exceeds the limit is dropped by \
                  the writer's monitor, the data stays.",
        example: "doorbell = { limit = 10, per = \"100 ms\" }",
    },
    Key {
        path: "channel.*.doorbell.limit",
        shape: Shape::Number(0, u32::MAX as u64),
        presence: Required,
        meaning: "Interrupts admitted per `per`.",
        example: "doorbell.limit = 10",
    },
    Key {
        path: "channel.*.doorbell.per",
        shape: Shape::Time,
        presence: Required,
        meaning: "Window of the limit.",
        example: "doorbell.per = \"100 ms\"",
    },
    Key {
        path: "channel.*.reply_doorbell",
        shape: Shape::Like("channel.*.doorbell"),
        presence: Default("no doorbell"),
        meaning: "The reader may interrupt the writer; the same keys as `doorbell`.",
        example: "reply_doorbell = { limit = 10, per = \"100 ms\" }",
    },
    Key {
        path: "channel.*.key",
        shape: Shape::Number(0, u64::MAX),
        presence: Default("mapped from the start"),
        meaning: "Makes the channel on demand: it is mapped into an end when that end asks for this \
                  number. Unique and not 0.",
        example: "key = 0x1001",
    },
];
