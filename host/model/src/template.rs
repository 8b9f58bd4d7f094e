//! A description to start from
//!
//! Two partitions that control and simulate a vehicle, every key explained. What is optional stands
//! there as a comment that can be taken in.

use crate::explain::wrapped;
use crate::registry::{DESCRIPTION, Key, Presence, Shape};

/// A commented description of that name, which passes every rule and runs.
#[must_use]
pub fn template(name: &str) -> String {
    PARTS
        .iter()
        .map(|part| match part {
            Part::Text(text) => text.replace("NAME", name),
            Part::Keys(path, given) => keys(path, given),
        })
        .collect()
}

enum Part {
    /// As it stands; `NAME` is the system's.
    Text(&'static str),
    /// The keys below a path that are not among those given, as comments.
    Keys(&'static str, &'static [&'static str]),
}

const PARTS: &[Part] = &[
    Part::Text(
        "# A system for Bulkhead. `bulkhead check` tells all that is wrong with it, `bulkhead run` builds\n\
         # and runs it, `bulkhead explain KEY` tells more about a key.\n\n\
         [system]\nname = \"NAME\"\nboard = \"qemu-virt\"\n",
    ),
    Part::Keys("system", &["name", "board"]),
    Part::Text("\n[run]\nfor = \"10 s\"\n"),
    Part::Keys("run", &["for"]),
    Part::Text(
        "\n# Two CAN controllers on one bus, each owned by a partition.\n\
         [device.can0]\nkind = \"kvaser-can\"\nbus = \"powertrain\"\n\
         \n[device.can1]\nkind = \"kvaser-can\"\nbus = \"powertrain\"\n",
    ),
    Part::Text(
        "\n# A partition: cores, memory and devices that belong to one guest alone.\n\
         [partition.control]\nkind = \"rtos\"\ncriticality = \"A\"\nmemory = \"1 MiB\"\n\
         heartbeat = \"20 ms\"\ntrace = \"1 MiB\"\ndevices = [\"can0\"]\n",
    ),
    Part::Keys(
        "partition.*",
        &[
            "devices",
            "kind",
            "criticality",
            "memory",
            "image",
            "heartbeat",
            "trace",
            "dma",
        ],
    ),
    Part::Text(
        "\n# What it is made of: components on the kernel, each in an address space of its own with just\n\
         # what is named here. This one builds the others.\n\
         [partition.control.component.boot]\nrole = \"boot\"\nimage = { crate = \"bulkhead-boot\" }\n\
         needs = [\"console\"]\n\
         \n[partition.control.component.scheduler]\nrole = \"scheduler\"\n\
         image = { crate = \"bulkhead-scheduler\" }\nprovides = [\"threads\"]\nneeds = [\"console\"]\n\
         owns = [\"heartbeat\", \"monitor\"]\nmemory = \"32 KiB\"\n\
         \n[partition.control.component.console]\nrole = \"driver\"\nimage = { crate = \"bulkhead-console\" }\n\
         provides = [\"console\"]\nowns = [\"console\"]\n\
         \n[partition.control.component.can]\nrole = \"driver\"\nimage = { crate = \"bulkhead-can\" }\n\
         provides = [\"can\"]\nneeds = [\"threads\", \"console\"]\nowns = [\"can0\"]\npriority = 0\n\
         \n[partition.control.component.controller]\nimage = { crate = \"bulkhead-control\" }\n\
         needs = [\"threads\", \"console\", \"can\"]\nowns = [\"trace\"]\npriority = 1\n\
         channels = [\"state\", \"telemetry\", \"commands\"]\n",
    ),
    Part::Keys(
        "partition.*.component.*",
        &[
            "role", "image", "provides", "needs", "trusts", "channels", "owns", "priority",
        ],
    ),
    Part::Text(
        "\n[partition.plant]\nkind = \"rtos\"\ncriticality = \"A\"\nmemory = \"1 MiB\"\n\
         heartbeat = \"20 ms\"\ntrace = \"1 MiB\"\ndevices = [\"can1\"]\n\
         \n# An operator that looks on and gives commands could be a whole Linux:\n\
         # [partition.linux]\n# kind = \"linux\"\n# criticality = \"QM\"\n# memory = \"512 MiB\"\n\
         # image = { kernel = \"debian\", initrd = \"agent\" }\n# devices = [\"uart0\"]\n\
         \n[partition.plant.component.boot]\nrole = \"boot\"\nimage = { crate = \"bulkhead-boot\" }\n\
         needs = [\"console\"]\n\
         \n[partition.plant.component.scheduler]\nrole = \"scheduler\"\n\
         image = { crate = \"bulkhead-scheduler\" }\nprovides = [\"threads\"]\nneeds = [\"console\"]\n\
         owns = [\"heartbeat\", \"monitor\"]\nmemory = \"32 KiB\"\n\
         \n[partition.plant.component.console]\nrole = \"driver\"\nimage = { crate = \"bulkhead-console\" }\n\
         provides = [\"console\"]\nowns = [\"console\"]\n\
         \n[partition.plant.component.can]\nrole = \"driver\"\nimage = { crate = \"bulkhead-can\" }\n\
         provides = [\"can\"]\nneeds = [\"threads\", \"console\"]\nowns = [\"can1\"]\npriority = 0\n\
         \n[partition.plant.component.vehicle]\nimage = { crate = \"bulkhead-plant\" }\n\
         needs = [\"threads\", \"console\", \"can\"]\nowns = [\"trace\"]\npriority = 1\n\
         channels = [\"state\"]\n",
    ),
    Part::Text(
        "\n# A channel: memory that is mapped into just the partitions named, with a buffer in it.\n\
         [channel.state]\nkind = \"four-slot\"\nfrom = \"plant\"\nto = \"control\"\nmessage = 64\n",
    ),
    Part::Keys("channel.*", &["kind", "from", "to", "message"]),
    Part::Text(
        "\n# What the controller reports and what it is told; an operator would read and write here.\n\
         [channel.telemetry]\nkind = \"ring\"\nfrom = \"control\"\nto = \"plant\"\nmessage = 128\n\
         messages = 4096\n\
         \n[channel.commands]\nkind = \"mailbox\"\nfrom = \"plant\"\nto = \"control\"\nmessage = 256\n",
    ),
];

fn keys(path: &str, given: &[&str]) -> String {
    let is_missing = |key: &&Key| !given.contains(&key.name()) && key.shape != Shape::Named;
    DESCRIPTION
        .below(path)
        .filter(is_missing)
        .map(comment)
        .collect()
}

fn comment(key: &'static Key) -> String {
    let default = match key.presence {
        Presence::Required | Presence::RequiredByRule => String::new(),
        Presence::Default(default) => format!(" Default: {default}."),
    };
    let comment = wrapped(&format!("{}{default}", key.meaning), "# ");
    format!("{comment}\n# {}\n", key.example)
}
