//! Devices of the emulator that work at times of the host's clock
//!
//! A run with one of them does not repeat, whatever clock its cores have.

/// A virtio network card sends at a time of the machine's clock with this option, otherwise when the host runs the main loop.
const SENDS_BY_TIMER: &str = "tx=timer";

/// Returns the first device or connection of these options of the emulator that works at times of the host's clock.
pub(crate) fn host_timed(options: &[String]) -> Option<&str> {
    let pairs = options.iter().zip(options.iter().skip(1));
    pairs
        .filter(|(option, value)| match option.as_str() {
            "-device" => is_timed_device(value),
            // A hub hands frames on at once; all others exchange them with the host.
            "-netdev" | "-nic" => model(value) != "hubport",
            _ => false,
        })
        .map(|(_, value)| model(value))
        .next()
}

fn is_timed_device(device: &str) -> bool {
    let is_network = model(device).starts_with("virtio-net");
    let is_virtio = model(device).starts_with("virtio-");
    is_virtio && !(is_network && device.split(',').any(|one| one == SENDS_BY_TIMER))
}

fn model(options: &str) -> &str {
    options.split(',').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<String> {
        let options: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
        host_timed(&options).map(str::to_owned)
    }

    #[test]
    fn only_devices_by_the_clock_of_the_machine_repeat() {
        let hub = "-netdev hubport,id=a,hubid=0";
        let cards = [
            ("virtio-net-pci,netdev=a,tx=timer,x-txtimer=1000", None),
            ("virtio-net-pci,netdev=a,tx=bh", Some("virtio-net-pci")),
            ("virtio-net-pci,netdev=a", Some("virtio-net-pci")),
            ("virtio-blk-pci,drive=a", Some("virtio-blk-pci")),
            ("kvaser_pci,canbus=a", None),
            ("e1000,netdev=a", None),
        ];
        for (card, expected) in cards {
            let options = format!("{hub} -device {card}");
            assert_eq!(found(&options).as_deref(), expected, "{card}");
        }
        let user = found("-device e1000,netdev=a -netdev user,id=a");
        assert_eq!(user.as_deref(), Some("user"));
    }
}
