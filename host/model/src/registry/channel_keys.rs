//! Keys of `[channel.NAME]`

use super::Presence::{Default, Required, RequiredByRule};
use super::choices::{ACCESS, CHANNEL_KINDS};
use super::table::table;
use crate::document::At;
use crate::draft::section::Section;
use bulkhead_abi::guest::ChannelKind;

table! {
    /// A channel.
    ChannelDraft [name: At<String> = Section::name] in "channel.*." {
        kind: Choice(ChannelKind, CHANNEL_KINDS), Required, "kind = \"four-slot\"",
            "`\"four-slot\"`: the newest message, never blocks. `\"ring\"`: every message in order, the writer waits when it is full. \
             `\"mailbox\"`: one slot, half duplex, with transactions. `\"recorder\"`: an overwriting log that any number only read. `\"memory\"`: \
             plain memory, laid out by its users.";
        from: Text, RequiredByRule, "from = \"plant\"",
            "The partition that writes.";
        to: TextOrTexts, RequiredByRule, "to = \"control\"",
            "The partition that reads; a list for recorders and plain memory. `\"host\"` is the tool on the host, which can only read, and only \
             recorders.";
        message: Size, Required, "message = 64",
            "Bytes of a message, a multiple of 8 (of a slot, for a mailbox; of a record, for a recorder). For plain memory, the bytes of the \
             whole, a multiple of 4 KiB.";
        messages: Number(0, u32::MAX as u64), Default("1; rings and recorders must say"), "messages = 4096",
            "How many messages a ring, or records a recorder, holds. The other kinds have a fixed number.";
        read_only "access": Choice(bool, ACCESS), Default("`\"read-only\"` for recorders, `\"read-write\"` for others"), "access = \"read-only\"",
            "How the reader's side is mapped. Readers of four-slot, ring and mailbox must write their own cursors; readers of a recorder never \
             write; for plain memory it is your choice.";
        doorbell: Optional(RateDraft), Default("no doorbell"), "doorbell = { limit = 10, per = \"100 ms\" }",
            "The writer may interrupt the reader, so often; what exceeds the limit is dropped by the writer's monitor, the data stays.";
        reply_doorbell: Like(RateDraft, "channel.*.doorbell"), Default("no doorbell"), "reply_doorbell = { limit = 10, per = \"100 ms\" }",
            "The reader may interrupt the writer; the same keys as `doorbell`.";
        key: Number(0, u64::MAX), Default("mapped from the start"), "key = 0x1001",
            "Makes the channel on demand: it is mapped into an end when that end asks for this number. Unique and not 0.";
    }
}

table! {
    /// The rate of a doorbell.
    RateDraft in "channel.*.doorbell." {
        limit: Number(0, u32::MAX as u64), Required, "doorbell.limit = 10",
            "Interrupts admitted per `per`.";
        per: Time, Required, "doorbell.per = \"100 ms\"",
            "Window of the limit.";
    }
}
