// Says hello on the PL011 at 0x0900_0000 and waits. Position-independent.
//   aarch64-linux-gnu-gcc -nostdlib -static -Wl,-Ttext=0x40000000,--build-id=none,-n -o hello.elf hello.S
//   aarch64-linux-gnu-objcopy -O binary hello.elf hello.bin; aarch64-linux-gnu-strip hello.elf
        .globl  _start
_start: mov     x1, #0x09000000
        adr     x2, text
next:   ldrb    w0, [x2], #1
        cbz     w0, wait
        str     w0, [x1]
        b       next
wait:   wfi
        b       wait
text:   .asciz  "hello from a foreign image\n"
        .balign 4
