/** Values that code without types may pass, and data that changes or throws while it is read. */
import { runInNewContext } from "node:vm";
import fc from "fast-check";

/** What getters, iterators and storages throw. The message, class or properties of some of it cannot be read. */
const THROWN: Readonly<Record<string, () => unknown>> = {
  "an error": () => new Error("of the app"),
  "an error whose message is a symbol": () => Object.assign(new Error(), { message: Symbol("message") }),
  "an error whose getters throw": () =>
    Object.defineProperty(new Error(), "message", { get: () => raise(new Error("of a getter")) }),
  "a revoked proxy": () => revoked({}),
  "a proxy that throws": () => throwing({}, new Error("of a proxy")),
  nothing: () => undefined,
  null: () => null,
  "a symbol": () => Symbol("thrown"),
  "an object without toString": () => Object.create(null) as unknown,
  "an object that looks like a refusal": () => ({ code: "bad-snapshot", message: Symbol("message") }),
};

/** A value that is made again for each use, since reading it may change it, and that is shown by its name. */
export class Made {
  private readonly name: string;
  readonly make: () => unknown;

  constructor(name: string, make: () => unknown) {
    this.name = name;
    this.make = make;
  }

  [fc.toStringMethod](): string {
    return this.name;
  }
}

/** One of some values. */
function madeOf(kinds: Readonly<Record<string, () => unknown>>): fc.Arbitrary<Made> {
  return fc.constantFrom(...Object.entries(kinds).map(([name, make]) => new Made(name, make)));
}

export const thrown = madeOf(THROWN);

function raise(error: unknown): never {
  throw error;
}

function revoked<T extends object>(target: T): T {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

/** A proxy each of whose traps throws. */
function throwing<T extends object>(target: T, error: unknown): T {
  const handler = new Proxy({}, { get: () => () => raise(error) });
  return new Proxy(target, handler);
}

const VALUES: Readonly<Record<string, () => unknown>> = {
  "half a surrogate pair": () => "\ud800",
  "the other half": () => "\udc00x",
  "a string with a zero": () => "a\0b\u00e9",
  "a long string": () => "\u{1f600}".repeat(40_000),
  "a base64 string": () => "AAAA".repeat(30),
  "minus zero": () => -0,
  "no number": () => NaN,
  infinity: () => Infinity,
  "minus infinity": () => -Infinity,
  "a fraction": () => 1.5,
  "the least number": () => Number.MIN_VALUE,
  "the largest number": () => Number.MAX_VALUE,
  "too large for an integer": () => 2 ** 53,
  "2^32": () => 2 ** 32,
  "-1": () => -1,
  milliseconds: () => 1_764_000_000_000,
  "a huge bigint": () => 2n ** 20_000n,
  "a negative bigint": () => -1n,
  "a symbol": () => Symbol.iterator,
  "a boxed string": () => Object("boxed") as unknown,
  "a boxed symbol": () => Object(Symbol("boxed")) as unknown,
  "a boxed number": () => Object(7) as unknown,
  "an invalid date": () => new Date(NaN),
  "a date": () => new Date(0),
  "a function": () => () => "called",
  "a function that throws": () => () => raise(new Error("of a function")),
  "a class": () => Map,
  "a regular expression": () => /x/g,
  "an array of another realm": () => runInNewContext("['a', 1, 2n]") as unknown,
  "an object of another realm": () => runInNewContext("({ id: 'a' })") as unknown,
  "bytes of another realm": () => runInNewContext("new Uint8Array(8).buffer") as unknown,
  bytes: () => new Uint8Array(64).fill(0x41),
  "big integers": () => new BigInt64Array(3),
  "a revoked proxy": () => revoked({}),
  "a revoked list": () => revoked([]),
  "a revoked function": () => revoked(() => {}),
  "a proxy that throws": () => throwing({}, new Error("of a proxy")),
  "a list that throws": () => throwing([], Symbol("of a list")),
  "an object without a prototype": () => Object.create(null) as unknown,
  "an object with the key __proto__": () => JSON.parse('{"__proto__":{"id":"a","shards":[],"now":1}}') as unknown,
  "an object whose toString throws": () => ({ toString: () => raise(new Error("of toString")) }),
  "an object whose valueOf throws": () => ({
    valueOf: () => raise(undefined),
    [Symbol.toPrimitive]: () => raise(null),
  }),
  "a sparse list": () => Object.assign(new Array<unknown>(5), { 2: "a" }),
  "a frozen list": () => Object.freeze(["a", Object.freeze({ id: "b" })]),
  "a list whose methods lie": () => Object.assign(["a", "b"], lies()),
  "a list whose iterator lies": () => Object.assign(["a"], { [Symbol.iterator]: () => [Symbol("not in it")].values() }),
  "something like a list": () => ({ length: 2, 0: "a", 1: { id: "b" } }),
  "something like a list without a length": () => ({ length: NaN, 0: "a" }),
  "something like a list of negative length": () => ({ length: -1 }),
  "something like an endless list": () => ({ length: Infinity, 0: "a" }),
  "a list of a length that lies": () =>
    new Proxy(["a"], { get: (list, key) => (key === "length" ? 2 ** 31 : (Reflect.get(list, key) as unknown)) }),
  "an iterator that throws midway": () => throwsMidway(),
  "an iterator that yields strange values": () => [Symbol("yielded"), undefined, NaN, "a"].values(),
  "something iterable that is not": () => ({ [Symbol.iterator]: 7 }),
  "a set": () => new Set(["a", 1, NaN]),
  "a map": () => new Map([["a", 1]]),
  "a promise": () => Promise.resolve([]),
  // oxlint-disable-next-line unicorn/no-thenable -- hostile on purpose
  "a thenable that throws": () => ({ then: () => raise(new Error("of then")) }),
  "an element": () => ({ nodeType: 1 }),
};

/** Methods of a list, each of which returns what no list of ids contains. */
function lies(): object {
  const lie = () => [Symbol("a lie")];
  return { filter: lie, map: lie, flatMap: lie, slice: lie, every: () => true, some: () => false, join: lie };
}

function* throwsMidway() {
  yield "a";
  yield { id: "b" };
  throw new Error("of an iterator");
}

const anything = fc.anything({ withBigInt: true, withNullPrototype: true, withSparseArray: true, maxDepth: 2 });

/** Anything at all. */
export const hostile: fc.Arbitrary<Made> = fc.oneof(
  { weight: 2, arbitrary: madeOf(VALUES) },
  { weight: 1, arbitrary: anything.map((value) => new Made(fc.stringify(value), () => value)) },
);

const WAYS = [
  "another value",
  "another value when read again",
  "a getter that throws",
  "a proxy that throws after some reads",
] as const;

/** Valid data with one part changed. */
export interface Change {
  /** Which of its parts, counted through all levels. */
  readonly part: number;
  readonly way: (typeof WAYS)[number];
  readonly value: Made;
  /** What is thrown. */
  readonly error: Made;
}

export const change: fc.Arbitrary<Change> = fc.record({
  part: fc.nat({ max: 40 }),
  way: fc.constantFrom(...WAYS),
  value: hostile,
  error: thrown,
});

type Parts = Record<string, unknown>;

/** A copy of a call's arguments with parts of them changed; without any, there is one. */
export function changed(given: readonly unknown[], changes: readonly Change[]): unknown[] {
  const copy = given.map(copyOf);
  const properties = propertiesIn(copy);
  for (const change of changes) makeChange(properties[change.part % properties.length] ?? firstIn(copy), change, copy);
  return copy;
}

/** Changes one part. A function never reads the list of arguments itself, so that its elements are only replaced. */
function makeChange({ owner, name, present }: Property, { part, way, ...made }: Change, list: object): void {
  const [value, error] = [made.value.make(), made.error.make()];
  const redefine = (get: () => unknown) => Object.defineProperty(owner, name, { get, configurable: true });
  let reads = 0;
  const tired = isObject(present) ? tiring(present, part, error) : value;
  if (way === "a proxy that throws after some reads") redefine(() => tired);
  else if (owner === list || way === "another value") redefine(() => value);
  else if (way === "another value when read again") redefine(() => (reads++ === 0 ? present : value));
  else redefine(() => raise(error));
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** A proxy whose properties can be read this number of times. */
function tiring(target: object, reads: number, error: unknown): object {
  let left = reads;
  return new Proxy(target, { get: (object, key): unknown => (left-- > 0 ? Reflect.get(object, key) : raise(error)) });
}

function copyOf(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(copyOf);
  if (Object.prototype.toString.call(data) !== "[object Object]") return data;
  return Object.fromEntries(Object.entries(data as Parts).map(([name, value]) => [name, copyOf(value)]));
}

interface Property {
  readonly owner: Parts;
  readonly name: string;
  readonly present: unknown;
}

function propertiesIn(data: unknown): Property[] {
  if (!isObject(data)) return [];
  const owner = data as Parts;
  return Object.entries(owner).flatMap(([name, present]) => [{ owner, name, present }, ...propertiesIn(present)]);
}

const firstIn = (list: object): Property => ({ owner: list as Parts, name: "0", present: undefined });
