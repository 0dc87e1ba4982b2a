;; Turns the text of a Wasm module (wasm-text.ts says what it is) back into the module's bytes, in place, and returns how many there are. The same
;; loop in JavaScript, which runs but once and so is interpreted, takes longer than compiling the module.
(module
  (memory (export "memory") 1)
  (func (export "unpack") (param $end i32) (result i32)
    (local $from i32)
    (local $to i32)
    (local $code i32)
    (loop $next
      (if (i32.lt_u (local.get $from) (local.get $end))
        (then
          (local.set $code (i32.load8_u (local.get $from)))
          (if (i32.lt_u (local.get $code) (i32.const 35))
            (then
              ;; A quotient: the remainder comes after it.
              (local.set $code
                (i32.add
                  (i32.mul (i32.sub (local.get $code) (i32.const 31)) (i32.const 92))
                  (i32.load8_u offset=1 (local.get $from))))
              (local.set $from (i32.add (local.get $from) (i32.const 1)))))
          (i32.store8 (local.get $to) (i32.sub (local.get $code) (i32.const 35)))
          (local.set $from (i32.add (local.get $from) (i32.const 1)))
          (local.set $to (i32.add (local.get $to) (i32.const 1)))
          (br $next))))
    (local.get $to)))
