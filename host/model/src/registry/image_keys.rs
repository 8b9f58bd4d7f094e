//! Keys of `image = { … }`

use crate::registry::Presence::Default;
use crate::registry::key::{Key, Shape};

pub(super) const KEYS: &[Key] = &[
    Key {
        path: "partition.*.image.crate",
        shape: Shape::Text,
        presence: Default("not built from source"),
        meaning: "A crate of this workspace, built for the bare machine. For kind `\"rtos\"` and \
                  `\"image\"`.",
        example: "image.crate = \"bulkhead-control\"",
    },
    Key {
        path: "partition.*.image.file",
        shape: Shape::Text,
        presence: Default("no file of your own"),
        meaning: "An ELF file for AArch64, an arm64 `Image`, or a flat file, relative to the \
                  description. For kind `\"rtos\"` and `\"image\"`.",
        example: "image.file = \"zephyr.elf\"",
    },
    Key {
        path: "partition.*.image.load",
        shape: Shape::Number(0, u64::MAX),
        presence: Default("start of the guest's memory"),
        meaning: "Guest-physical address at which a flat file is placed. An ELF file says so itself.",
        example: "image.load = 0x4000_0000",
    },
    Key {
        path: "partition.*.image.entry",
        shape: Shape::Number(0, u64::MAX),
        presence: Default("the ELF file's own, or the load address"),
        meaning: "Guest-physical address at which a file is entered.",
        example: "image.entry = 0x4000_0000",
    },
    Key {
        path: "partition.*.image.device_tree",
        shape: Shape::Flag,
        presence: Default("`false`"),
        meaning: "Whether a generated device tree is placed in memory and its address passed in x0, as \
                  U-Boot and Zephyr may want it. For `file` only.",
        example: "image.device_tree = true",
    },
    Key {
        path: "partition.*.image.kernel",
        shape: Shape::Text,
        presence: Default("no Linux"),
        meaning: "A Linux kernel: `\"debian\"` or `\"debian-rt\"`, fetched by the set-up, `\"pseudo-nmi\"`, which it compiles \
                  from Debian's source, or the path of an uncompressed arm64 `Image`. For kind `\"linux\"`.",
        example: "image.kernel = \"debian\"",
    },
    Key {
        path: "partition.*.image.initrd",
        shape: Shape::Text,
        presence: Default("`\"agent\"`"),
        meaning: "The kernel's initial file system: `\"agent\"`, made by the tool (busybox, the kernel \
                  module, the agent), or the path of a file of your own.",
        example: "image.initrd = \"agent\"",
    },
];
