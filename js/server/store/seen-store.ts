/** What every store shares: a change is made again until nobody else has come between, so that none is lost. */
import { refuse, SeenGuardError } from "../../errors.js";
import { isFunction, isText } from "../../options.js";
import type * as Api from "../../types/server.js";
import { checkChainOptions, type ChainSettings } from "../chain-options.js";
import { ShardChain } from "../shard-chain.js";
import { retry } from "./retry.js";
import { isSame, type StoredSeen } from "./stored-seen.js";

/** Where users' chains are. `Stored`: what it reads, which it may know more of. */
export interface Backend<Stored extends StoredSeen> {
  read(user: string): Promise<Stored>;
  /** Stores `after` if what is stored is still `before`; else changes nothing, and returns false. */
  replace(user: string, before: Stored, after: StoredSeen): Promise<boolean>;
}

export class ChainStore<Stored extends StoredSeen> implements Api.SeenStore {
  private readonly backend: Backend<Stored>;
  private readonly options: Api.ChainOptions;

  /** `backendFor` makes the backend of chains with these options, once they are checked. */
  constructor(options: Api.ChainOptions, backendFor: (settings: ChainSettings) => Backend<Stored>) {
    this.backend = backendFor(checkChainOptions(options));
    this.options = options;
  }

  async read(user: string): Promise<ShardChain> {
    return ShardChain.from(await this.backend.read(checkUser(user)), this.options);
  }

  async update<R>(user: string, change: (chain: Api.ShardChain) => R): Promise<R> {
    checkUser(user);
    if (!isFunction(change)) refuse("update takes a function that changes the chain");
    const done = await retry(() => this.tryUpdate(user, change));
    if (!done) throw new SeenGuardError("storage", `others changed what is stored of ${user} all the time`);
    return done.result;
  }

  /** `undefined` if somebody else was quicker. */
  private async tryUpdate<R>(user: string, change: (chain: Api.ShardChain) => R): Promise<{ result: R } | undefined> {
    const before = await this.backend.read(user);
    const chain = await ShardChain.from(before, this.options);
    let result: R;
    let after: StoredSeen;
    try {
      result = change(chain);
      if (result instanceof Promise) refuse("update's function changes the chain at once: it cannot be async");
      after = chain.snapshot();
    } finally {
      chain.free();
    }
    return isSame(before, after) || (await this.backend.replace(user, before, after)) ? { result } : undefined;
  }
}

function checkUser(user: unknown): string {
  return isText(user) ? user : refuse("a store's user must be a text that is not empty");
}
