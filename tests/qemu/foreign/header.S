/* Head of an arm64 Image (Linux Documentation/arch/arm64/booting) */
        .section .text.unlikely, "ax"
        b       _start
        .long   0
        .quad   0                       /* text_offset */
        .quad   0x40000                 /* image_size */
        .quad   0xa                     /* little-endian, 4 KiB pages, anywhere */
        .quad   0, 0, 0
        .ascii  "ARM\x64"
        .long   0
