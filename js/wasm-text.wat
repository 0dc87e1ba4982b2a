;; Turns the text of a Wasm module, which wasm-text.ts describes, back into the module. The same loops in JavaScript, which run but once and so are
;; interpreted, take longer than compiling the module.
;;
;; The memory: 0, where each stream is read, 4 bytes each; 48, where what is plain is; 256, the locals of which the latest was named first; 1024, the
;; text; after it, the module.
(module
  (memory (export "memory") 1)
  (global $to (mut i32) (i32.const 0))

  ;; The next byte of a stream, which is told by where it is kept where it is read.
  (func $read (param $stream i32) (result i32)
    (local $from i32)
    (local $code i32)
    (local.set $from (i32.load (local.get $stream)))
    (local.set $code (i32.load8_u (local.get $from)))
    (if (i32.lt_u (local.get $code) (i32.const 35))
      (then
        ;; A quotient: the remainder comes after it.
        (local.set $from (i32.add (local.get $from) (i32.const 1)))
        (local.set $code
          (i32.add
            (i32.mul (i32.sub (local.get $code) (i32.const 31)) (i32.const 92))
            (i32.load8_u (local.get $from))))))
    (i32.store (local.get $stream) (i32.add (local.get $from) (i32.const 1)))
    (i32.sub (local.get $code) (i32.const 35)))

  (func $write (param $byte i32)
    (i32.store8 (global.get $to) (local.get $byte))
    (global.set $to (i32.add (global.get $to) (i32.const 1))))

  ;; The text ends at $end; returns where the module does, which begins there.
  (func (export "unpack") (param $end i32) (result i32)
    (local $at i32)
    (local $byte i32)
    (local $stream i32)
    (local $function i32)
    (global.set $to (local.get $end))

    ;; Streams begin after quotation marks.
    (local.set $at (i32.const 1024))
    (loop $find
      (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 34))
        (then
          (i32.store (local.get $stream) (i32.add (local.get $at) (i32.const 1)))
          (local.set $stream (i32.add (local.get $stream) (i32.const 4)))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $find (i32.lt_u (local.get $at) (local.get $end))))

    (loop $next
      (local.set $byte (call $read (i32.const 0)))
      (if (i32.lt_u (i32.sub (local.get $byte) (i32.const 6)) (i32.const 3))
        (then
          (if (i32.eq (local.get $byte) (i32.const 6))
            (then
              ;; A function: room for its size, and its locals by their numbers.
              (local.set $function (global.get $to))
              (global.set $to (i32.add (global.get $to) (i32.const 4)))
              (local.set $at (i32.const 128))
              (loop $number
                (local.set $at (i32.sub (local.get $at) (i32.const 1)))
                (i32.store8 offset=256 (local.get $at) (local.get $at))
                (br_if $number (local.get $at)))))
          ;; So many bytes as they are.
          (local.set $at (call $read (i32.const 4)))
          (if (i32.eq (local.get $byte) (i32.const 8))
            (then
              (memory.copy (global.get $to) (i32.load offset=48 (i32.const 0)) (local.get $at))
              (i32.store offset=48 (i32.const 0) (i32.add (i32.load offset=48 (i32.const 0)) (local.get $at)))
              (global.set $to (i32.add (global.get $to) (local.get $at))))
            (else
              (loop $verbatim
                (call $write (call $read (i32.const 4)))
                (local.set $at (i32.sub (local.get $at) (i32.const 1)))
                (br_if $verbatim (local.get $at))))))
        (else
          ;; Of a short opcode, the table tells its stream, or another opcode that it stands for.
          (local.set $stream (i32.const 0))
          (if (i32.lt_u (local.get $byte) (i32.const 92))
            (then
              (local.set $stream (i32.sub (i32.load8_u offset=1024 (local.get $byte)) (i32.const 35)))
              (if (i32.gt_u (local.get $stream) (i32.const 11))
                (then
                  (local.set $byte (i32.add (local.get $stream) (i32.const 94)))
                  (local.set $stream (i32.const 0))))))
          (call $write (local.get $byte))
          ;; The function's size so far, 7 bits in each byte, of which all but the last have their highest bit.
          (local.set $at (i32.sub (i32.sub (global.get $to) (local.get $function)) (i32.const 4)))
          (local.set $at (i32.add (local.get $at) (i32.and (local.get $at) (i32.const -0x80))))
          (local.set $at (i32.add (local.get $at) (i32.and (local.get $at) (i32.const -0x8000))))
          (i32.store (local.get $function) (i32.or (local.get $at) (i32.const 0x808080)))
          (local.set $stream (i32.shl (local.get $stream) (i32.const 2)))
          (if (local.get $stream)
            (then
              (if (i32.lt_u (local.get $stream) (i32.const 16))
                (then
                  ;; A local by its rank: it becomes the first.
                  (local.set $at (call $read (local.get $stream)))
                  (local.set $byte (i32.load8_u offset=256 (local.get $at)))
                  (call $write (local.get $byte))
                  (block $moved
                    (loop $move
                      (br_if $moved (i32.eqz (local.get $at)))
                      (i32.store8 offset=256 (local.get $at) (i32.load8_u offset=255 (local.get $at)))
                      (local.set $at (i32.sub (local.get $at) (i32.const 1)))
                      (br $move)))
                  (i32.store8 (i32.const 256) (local.get $byte)))
                (else
                  ;; A number, of which all bytes but the last have their highest bit; before that of a load or a store, no alignment.
                  (if (i32.lt_u (local.get $stream) (i32.const 24))
                    (then (call $write (i32.const 0))))
                  (loop $digit
                    (local.set $byte (call $read (local.get $stream)))
                    (call $write (local.get $byte))
                    (br_if $digit (i32.gt_u (local.get $byte) (i32.const 127)))))))))
      )
      (br_if $next (i32.ne (i32.load8_u (i32.load (i32.const 0))) (i32.const 34))))
    (global.get $to)))
