/** Ids whose hashes share bits, as an attacker who knows the hash may send. */
import binaryen from "binaryen";

const [P1, P2, P4, P5] = [0x9e3779b185ebca87n, 0xc2b2ae3d27d4eb4fn, 0x85ebca77c2b2ae63n, 0x27d4eb2f165667c5n];
const P3 = 0x165667b19e3779f9n;
const signed = (value: bigint) => String(BigInt.asIntN(64, value));

/**
 * XXH64 of the 8 letters that encode a number; and the least number from `start` on whose hash has zeros where `mask` has
 * ones.
 */
const WAT = `
(module
  (func $letters (param $n i64) (result i64) (local $spread i64) (local $shift i64)
    (loop $next
      (local.set $spread (i64.or (local.get $spread)
        (i64.shl
          (i64.and (i64.shr_u (local.get $n) (local.get $shift)) (i64.const 15))
          (i64.shl (local.get $shift) (i64.const 1)))))
      (br_if $next (i64.lt_u (local.tee $shift (i64.add (local.get $shift) (i64.const 4))) (i64.const 32))))
    (i64.add (local.get $spread) (i64.const 0x6161616161616161)))
  (func $mix (param $h i64) (param $shift i64) (result i64)
    (i64.xor (local.get $h) (i64.shr_u (local.get $h) (local.get $shift))))
  (func $hash (param $n i64) (result i64) (local $h i64)
    (local.set $h (i64.mul (call $letters (local.get $n)) (i64.const ${signed(P2)})))
    (local.set $h (i64.mul (i64.rotl (local.get $h) (i64.const 31)) (i64.const ${signed(P1)})))
    (local.set $h (i64.xor (local.get $h) (i64.const ${signed(P5 + 8n)})))
    (local.set $h (i64.mul (i64.rotl (local.get $h) (i64.const 27)) (i64.const ${signed(P1)})))
    (local.set $h (i64.add (local.get $h) (i64.const ${signed(P4)})))
    (local.set $h (i64.mul (call $mix (local.get $h) (i64.const 33)) (i64.const ${signed(P2)})))
    (local.set $h (i64.mul (call $mix (local.get $h) (i64.const 29)) (i64.const ${signed(P3)})))
    (call $mix (local.get $h) (i64.const 32)))
  (func (export "find") (param $n i64) (param $mask i64) (result i64)
    (loop $next
      (if (i64.eqz (i64.and (call $hash (local.get $n)) (local.get $mask))) (then (return (local.get $n))))
      (local.set $n (i64.add (local.get $n) (i64.const 1)))
      (br $next))
    (unreachable)))`;

type Find = (start: bigint, mask: bigint) => bigint;

/** `count` ids of 8 letters whose XXH64 has zeros where `mask` has ones. */
export function craftedIds(count: number, mask: bigint): string[] {
  const module = binaryen.parseText(WAT);
  const bytes = Uint8Array.from(module.emitBinary());
  module.dispose();
  const { find } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports as { find: Find };
  const ids: string[] = [];
  for (let number = -1n; ids.length < count;) {
    number = find(number + 1n, BigInt.asIntN(64, mask));
    ids.push(lettersOf(number));
  }
  return ids;
}

function lettersOf(number: bigint): string {
  return Array.from({ length: 8 }, (_, index) => {
    const digit = Number((number >> BigInt(4 * index)) & 15n);
    return String.fromCharCode(97 + digit);
  }).join("");
}
