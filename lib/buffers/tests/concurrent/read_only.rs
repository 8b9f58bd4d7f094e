//! Readers of a recorder live with a mapping where any store would fault

use crate::memory;
use bulkhead_buffers::recorder::{Read, records, stream};

#[test]
fn a_stream_is_read_from_read_only_pages() {
    let layout = stream::Layout::for_bytes(64).expect("layout");
    let view = memory::read_only_copy(layout.bytes(), |region| {
        stream::Writer::attach(region, &layout)
            .expect("fits")
            .write(b"hello");
    });
    let mut text = [0; 8];
    let got = stream::Reader::attach(view, &layout)
        .expect("fits")
        .read(&mut text);
    assert_eq!(got, Ok(Read { count: 5, lost: 0 }));
    assert_eq!(&text[..5], b"hello");
}

#[test]
fn records_are_read_from_read_only_pages() {
    let layout = records::Layout::for_records(12, 2).expect("layout");
    let view = memory::read_only_copy(layout.bytes(), |region| {
        let mut writer = records::Writer::attach(region, &layout).expect("fits");
        (0..3).for_each(|at| writer.write(&[at; 12]).expect("length"));
    });
    let mut records = [0; 36];
    let got = records::Reader::attach(view, &layout)
        .expect("fits")
        .read(&mut records);
    assert_eq!(got, Ok(Read { count: 2, lost: 0 }));
    assert_eq!(records[..24], [[1; 12], [2; 12]].concat());
}
